import type { Entry, SessionHeader } from '../../transcript/entry.ts';
import type { SearchHit, SearchLack, SearchProgress, SearchQuery, SearchResult } from '../port/search.ts';
import { matchSearch } from './search-match.ts';
import {
  compareSearchPlaces,
  formatSearchCursor,
  parseSearchCursor,
  SEARCH_LIMIT,
  type SearchPlace,
} from './search-query.ts';
import { searchable } from './search-text.ts';

interface Found {
  readonly place: SearchPlace;
  readonly hit: SearchHit;
}

/** The session of a line. */
export interface SearchedSession {
  readonly id: string;
  readonly agentId: string;
}

/** Up to this many extra hits are held before the oldest are dropped. */
const SPARE = 1000;

/** Collects the newest hits up to a limit; hits may be offered in any order. */
export class SearchHits {
  readonly #words: readonly string[];
  readonly #limit: number;
  readonly #start: SearchPlace | undefined;
  readonly #seen: Set<string> = new Set();
  #found: Found[] = [];
  #isSorted = true;

  constructor(words: readonly string[], { limit = SEARCH_LIMIT, after }: SearchQuery) {
    this.#words = words;
    this.#limit = limit;
    this.#start = after === undefined ? undefined : parseSearchCursor(after);
  }

  /** Adds a line if it matches and follows the start of the page. Each line is added once. */
  offer({ id, agentId }: SearchedSession, seq: number, entry: Entry | SessionHeader): void {
    const said = searchable(entry);
    if (said === undefined) return;
    const place = { at: said.at, id, seq };
    if (this.#start !== undefined && compareSearchPlaces(this.#start, place) >= 0) return;
    const match = matchSearch(said.text, this.#words);
    if (match === undefined) return;
    const name = `${id}/${seq}`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    const entryId = typeof entry.id === 'string' ? entry.id : '';
    const at = new Date(said.at).toISOString();
    this.#found.push({ place, hit: { id, agentId, seq, entryId, role: said.role, at, ...match } });
    this.#isSorted = false;
    if (this.#found.length > this.#limit + SPARE) this.#sort();
  }

  /** True if no line of this time or older can become a hit. */
  isFullBefore(at: number): boolean {
    const last = this.#oneTooMany();
    return last !== undefined && last.at > at;
  }

  /** True if no line at or after this position can become a hit. */
  isFullAt(place: SearchPlace): boolean {
    const last = this.#oneTooMany();
    return last !== undefined && compareSearchPlaces(last, place) < 0;
  }

  result(lack?: SearchLack, index?: SearchProgress): SearchResult {
    this.#sort();
    const page = this.#found.slice(0, this.#limit);
    const last = page.at(-1);
    return {
      hits: page.map(({ hit }) => hit),
      next: last !== undefined && this.#found.length > this.#limit ? formatSearchCursor(last.place) : null,
      complete: lack === undefined,
      ...(lack !== undefined && { reason: lack }),
      ...(index !== undefined && index.done < index.total && { index }),
    };
  }

  #oneTooMany(): SearchPlace | undefined {
    if (this.#found.length <= this.#limit) return undefined;
    this.#sort();
    return this.#found[this.#limit]?.place;
  }

  /** Sorts the hits and holds one more than requested, to know whether there are more. */
  #sort(): void {
    if (this.#isSorted) return;
    this.#found.sort((a, b) => compareSearchPlaces(a.place, b.place));
    this.#found.length = Math.min(this.#found.length, this.#limit + 1);
    this.#isSorted = true;
  }
}
