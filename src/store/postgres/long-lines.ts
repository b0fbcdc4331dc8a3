import { LOOK_BYTES } from '../shared/look-bytes.ts';

export interface BoundedLines {
  readonly columns: string;
  /** A table and a condition. */
  readonly from: string;
  readonly order: string;
  /** The column that can be long. */
  readonly text: string;
  readonly limit: string;
}

/**
 * Builds a statement for lines of any length that returns at most what one read should take, and at least one line.
 * The server knows the length of a line without decompressing it. `is_last` is true for the last row if no row
 * follows.
 */
export function boundedLines({ columns, from, order, text, limit }: BoundedLines): string {
  return `SELECT ${columns}, place = count AND count < ${limit} AS is_last FROM (
      SELECT *, count(*) OVER () AS count FROM (
        SELECT ${columns}, row_number() OVER looked AS place,
          sum(octet_length(${text})) OVER looked - octet_length(${text}) AS before
        FROM (SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${limit}) AS page
        WINDOW looked AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
      ) AS measured
    ) AS counted WHERE before < ${LOOK_BYTES} ORDER BY place`;
}

/** The lines of a session between two seqs. */
export const SOME_LINES: string = boundedLines({
  columns: 'seq, line',
  from: 'reprise.lines WHERE session_id = $1 AND seq BETWEEN $2 AND $3',
  order: 'seq',
  text: 'line',
  limit: '1000',
});
