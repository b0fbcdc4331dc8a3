import { expect, test } from 'vitest';
import { StuckTimer } from '../../../src/engine/schedule/stuck-timer.ts';
import { HandClock } from '../../support/engine/hand-clock.ts';

const AFTER_MS = 600_000;

function watched(): { readonly clock: HandClock; readonly timer: StuckTimer; readonly ended: string[] } {
  const clock = new HandClock();
  const ended: string[] = [];
  const timer = new StuckTimer({
    clock,
    afterMs: AFTER_MS,
    onStuck: ({ message }) => void ended.push(message),
  });
  return { clock, timer, ended };
}

test('a turn that emits nothing for the whole time is ended, once', () => {
  const { clock, timer, ended } = watched();
  clock.advance(400_000);
  timer.progress();
  clock.advance(AFTER_MS - 1);
  expect(ended).toEqual([]);
  clock.advance(2 * AFTER_MS);
  expect(ended).toEqual(['the turn made no progress for 600 s']);
});

test('a machine that slept is no silence of the turn: events that came meanwhile are processed first', () => {
  const { clock, timer, ended } = watched();
  clock.advance(1000);
  clock.sleep(8 * 3_600_000);
  expect(ended).toEqual([]);
  timer.progress();
  clock.advance(AFTER_MS - 1);
  expect(ended).toEqual([]);
});

test('a turn that is still silent when the machine has woken is ended after the whole time', () => {
  const { clock, ended } = watched();
  clock.sleep(8 * 3_600_000);
  clock.advance(AFTER_MS);
  expect(ended).toHaveLength(1);
});
