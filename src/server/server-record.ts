import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { isLoopback } from './security/guards.ts';
import type { Logger } from './server-config.ts';

/*
 * Where the servers of a home listen, one file for each process. The command line sends the token of a home only to an
 * address in here, so `--url` with any other address cannot collect it.
 */

interface ServerRecord {
  readonly url: string;
  readonly pid: number;
}

/** @returns what removes the record. Without one the server works, but its token has to be named by hand. */
export async function recordServer(home: string, url: string, logger: Logger): Promise<() => Promise<void>> {
  const file = join(folderIn(home), `${process.pid}-${new URL(url).port}.json`);
  try {
    await mkdir(folderIn(home), { recursive: true, mode: 0o700 });
    await removeDead(home);
    await writeFile(file, `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 });
  } catch (err) {
    logger.warn({ err, file }, 'cannot record the address: `reprise --url` needs --token-file');
  }
  return async () => {
    await rm(file, { force: true }).catch(() => undefined); // the next start removes it
  };
}

/**
 * @returns the address as the server recorded it, or `undefined` if no running server of this home listens there. A name
 * such as `localhost` is replaced by the recorded address, because another program may listen on its other address.
 */
export async function ownServerAt(home: string, url: string): Promise<string | undefined> {
  if (!URL.canParse(url)) return undefined;
  const wanted = new URL(url);
  for (const { url: recorded } of await liveServers(home)) {
    const own = new URL(recorded);
    if (own.protocol !== wanted.protocol || own.port !== wanted.port) continue;
    if (own.hostname === wanted.hostname) return url;
    if (isLocalName(wanted.hostname) && isLoopback(bare(own.hostname))) return moved(wanted, own.hostname);
    const isWildcard = own.hostname === '0.0.0.0' || own.hostname === '[::]';
    if (isWildcard && isLocalName(wanted.hostname)) return moved(wanted, '127.0.0.1');
    if (isWildcard && isOwnAddress(bare(wanted.hostname))) return url;
  }
  return undefined;
}

export async function liveServers(home: string): Promise<readonly ServerRecord[]> {
  return (await records(home)).flatMap(({ record }) => (record !== undefined ? [record] : []));
}

async function removeDead(home: string): Promise<void> {
  for (const { file, record } of await records(home))
    if (record === undefined) await rm(file, { force: true });
}

async function records(home: string): Promise<{ file: string; record: ServerRecord | undefined }[]> {
  const names = await readdir(folderIn(home)).catch(() => []); // no server has run here
  return Promise.all(
    names.map(async (name) => {
      const file = join(folderIn(home), name);
      const record = await readFile(file, 'utf8').then(parse, () => undefined);
      return { file, record: record !== undefined && isAlive(record.pid) ? record : undefined };
    }),
  );
}

function parse(text: string): ServerRecord | undefined {
  try {
    const { url, pid } = JSON.parse(text) as Partial<ServerRecord>;
    if (typeof url === 'string' && URL.canParse(url) && Number.isSafeInteger(pid))
      return { url, pid: pid ?? 0 };
  } catch {
    // Being written, or damaged.
  }
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isLocalName(hostname: string): boolean {
  return isLoopback(bare(hostname));
}

function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address));
}

function moved(url: URL, hostname: string): string {
  const to = new URL(url);
  to.hostname = hostname;
  return to.href;
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function folderIn(home: string): string {
  return join(home, 'servers');
}
