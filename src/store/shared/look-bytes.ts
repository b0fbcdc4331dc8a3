/**
 * Bytes read per step of a long scan: small enough that other requests are served soon, large enough to be efficient.
 */
export const LOOK_BYTES: number = 1024 * 1024;
