import { failure } from '../../messages/failure.ts';

const RETRY_SECONDS = 5;

/** How many streams may be open at once in a server. Refused before anything is accepted for them. */
export class StreamPlaces {
  max: number;
  #taken = 0;

  constructor(max: number) {
    this.max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Answers with what gives the place back, once. */
  take(): () => void {
    if (this.#taken >= this.max)
      throw failure(
        'UNAVAILABLE',
        'request.tooManyStreams',
        { max: this.max },
        { details: { limit: 'streams', max: this.max, retryAfter: RETRY_SECONDS } },
      );
    this.#taken++;
    let isTaken = true;
    return () => {
      if (isTaken) this.#taken--;
      isTaken = false;
    };
  }
}
