import type * as port from '../../../src/store/port/store.ts';
import { fail, HOLDER, held, type PlainSession } from './plain-data.ts';
import { PlainInbox } from './plain-inbox.ts';

/** Who holds a session, and under which epoch. */
export class PlainLeases extends PlainInbox {
  async lease(id: string, { waitMs = 0 }: port.LeaseOptions = {}): Promise<port.Lease> {
    const patience = AbortSignal.timeout(waitMs);
    let session = this.find(id);
    while (session.holder !== undefined) {
      if (waitMs === 0 || patience.aborted) throw held(session);
      await this.nextChange(patience);
      session = this.find(id);
    }
    if (session.deleted) throw fail('SESSION_DELETED', `${id} is deleted`);
    this.writable();
    session.epoch = this.nextEpoch(session);
    return this.grant(session, { store: this, lost: new AbortController() });
  }

  nextEpoch(session: PlainSession): number {
    return Math.max(session.epoch, this.data.epochFloor) + 1;
  }

  protected grant(session: PlainSession, holder: NonNullable<PlainSession['holder']>): port.Lease {
    session.holder = holder;
    const isMine = (): boolean => session.holder === holder;
    const giveUp = (): void => {
      if (isMine()) this.dropHolder(session);
    };
    return {
      sessionId: session.id,
      epoch: session.epoch,
      signal: holder.lost.signal,
      renew: async () => {
        if (!isMine()) throw fail('FENCED', 'the lease is lost');
      },
      release: async ({ handOver = false } = {}) => {
        const waiting = handOver ? undefined : this.accepted(session.id)[0];
        if (isMine() && waiting !== undefined) return waiting;
        giveUp();
        return null;
      },
      [Symbol.asyncDispose]: async () => giveUp(),
    };
  }

  protected dropHolder(session: PlainSession): void {
    session.holder?.lost.abort();
    delete session.holder;
    this.wake();
  }

  async leases(): Promise<readonly port.LeaseInfo[]> {
    this.open();
    const heldNow = [...this.data.sessions.values()].filter(({ holder }) => holder !== undefined);
    return heldNow.map(({ id, epoch }) => ({ sessionId: id, epoch, holder: HOLDER, alive: true }));
  }
}
