import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import type { Logger } from '../server-config.ts';
import { isOpenToOthers, isToken } from './token-file.ts';

/** How often the file is checked while no request comes, so that open streams end soon after a rotation. */
const CHECK_MS = 1000;
/** A file that changed this recently is read again: a second write within one clock tick leaves the same times. */
const RECENT_MS = 100;

export type TokenOrigin = { readonly token: string } | { readonly file: string };

/**
 * The token that a running server accepts: a fixed one, or whatever its file holds at the moment. The file is compared
 * on every request, so a rotation needs no restart and has no delay. Without a valid token the server
 * authenticates no request.
 */
export class ServerToken implements Disposable {
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #file: string | undefined;
  #version = '';
  #readAt = 0;
  #wasRevoked = false;
  #accepted: { readonly digest: Buffer; readonly ending: AbortController } | undefined;

  constructor(origin: TokenOrigin, logger: Logger) {
    this.#logger = logger;
    this.use(origin);
    this.#timer = setInterval(() => this.#refresh(), CHECK_MS);
    this.#timer.unref();
  }

  /** Replaces where the token comes from. */
  use(origin: TokenOrigin): void {
    this.#version = '';
    this.#file = 'file' in origin ? origin.file : undefined;
    if ('file' in origin) this.#refresh();
    else this.#accept(origin.token);
  }

  /** @returns a signal that aborts when the token stops being valid, or `undefined` if it is not valid now. */
  check(given: string): AbortSignal | undefined {
    this.#refresh();
    if (this.#accepted === undefined) return undefined;
    const { digest, ending } = this.#accepted;
    // Digests have one length, so the time reveals neither the token nor its length.
    return timingSafeEqual(sha256(given), digest) ? ending.signal : undefined;
  }

  /** A value that a browser keeps instead of the token. It is made of the token, so a new token ends it. */
  get cookieValue(): string | undefined {
    this.#refresh();
    return this.#accepted === undefined ? undefined : cookieFor(this.#accepted.digest);
  }

  /** As `check`, for a value of `cookieValue`. */
  checkCookie(given: string): AbortSignal | undefined {
    const { cookieValue } = this;
    if (cookieValue === undefined || this.#accepted === undefined) return undefined;
    return timingSafeEqual(sha256(given), sha256(cookieValue)) ? this.#accepted.ending.signal : undefined;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #refresh(): void {
    if (this.#file === undefined) return;
    const { version, token } = this.#read(this.#file);
    if (version === undefined) return;
    this.#version = version;
    this.#accept(token);
  }

  /** @returns no version if the file is unchanged. */
  #read(file: string): { readonly version?: string; readonly token?: string } {
    try {
      const { ino, size, mode, mtimeNs, ctimeNs, ctimeMs } = statSync(file, { bigint: true });
      const version = [ino, size, mtimeNs, ctimeNs].join(' ');
      const isSettled = this.#readAt - Number(ctimeMs) > RECENT_MS;
      if (version === this.#version && isSettled) return {};
      this.#readAt = Date.now();
      if (isOpenToOthers(Number(mode))) chmodSync(file, 0o600);
      const token = readFileSync(file, 'utf8').trim();
      return isToken(token) ? { version, token } : { version };
    } catch {
      // Gone or unreadable: revoked. It is tried again on the next request.
      return { version: '' };
    }
  }

  #accept(token: string | undefined): void {
    const before = this.#accepted;
    const digest = token === undefined ? undefined : sha256(token);
    if (digest !== undefined && before?.digest.equals(digest) === true) return;
    if (digest === undefined && before === undefined) return;
    this.#accepted = digest === undefined ? undefined : { digest, ending: new AbortController() };
    const file = this.#file;
    if (digest === undefined)
      this.#logger.warn({ file }, 'no valid token in the token file: every request is refused');
    else if (before !== undefined || this.#wasRevoked) this.#logger.info({ file }, 'the token was replaced');
    this.#wasRevoked = digest === undefined;
    before?.ending.abort();
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function cookieFor(digest: Buffer): string {
  return createHmac('sha256', digest).update('reprise sign-in cookie').digest('base64url');
}
