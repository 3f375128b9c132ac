import type { Act } from './acts.ts';

/** What a run has come across. A test that never meets a case says nothing about it. */
export interface Tally {
  claimed: number;
  claimedAgainAfterALapse: number;
  takenEarly: number;
  taken: number;
  staleJobsRefused: number;
  done: number;
  putBack: number;
  exhausted: number;
  rejected: number;
  lateFinishesRefused: number;
  lateBesideHeldInOneBatch: number;
  replayed: number;
  replaysRefused: number;
  webhooksDeleted: number;
  eventsDropped: number;
  historyRestored: number;
}

export function emptyTally(): Tally {
  return {
    claimed: 0,
    claimedAgainAfterALapse: 0,
    takenEarly: 0,
    taken: 0,
    staleJobsRefused: 0,
    done: 0,
    putBack: 0,
    exhausted: 0,
    rejected: 0,
    lateFinishesRefused: 0,
    lateBesideHeldInOneBatch: 0,
    replayed: 0,
    replaysRefused: 0,
    webhooksDeleted: 0,
    eventsDropped: 0,
    historyRestored: 0,
  };
}

export function count(tally: Tally, act: Act): void {
  switch (act.kind) {
    case 'register':
    case 'record':
    case 'release':
      return;
    case 'claim':
      tally.claimed += act.claimed.length;
      tally.claimedAgainAfterALapse += act.claimed.filter(({ leaseExpired }) => leaseExpired).length;
      return;
    case 'take':
      tally.taken += act.taken.length;
      tally.takenEarly += act.taken.filter(({ dueInMs }) => dueInMs > 0).length;
      tally.staleJobsRefused += act.jobs.length - act.taken.length;
      return;
    case 'finish':
      countFinish(tally, act);
      return;
    case 'replay':
      if (act.replayed) tally.replayed += 1;
      else tally.replaysRefused += 1;
      return;
    case 'delete':
      if (act.deleted) tally.webhooksDeleted += 1;
      return;
    case 'retention':
      tally.eventsDropped += act.dropped;
  }
}

function countFinish(tally: Tally, { as, endings, ended }: Extract<Act, { kind: 'finish' }>): void {
  tally.lateFinishesRefused += endings.length - ended.length;
  const ids = endings.map(({ hand }) => hand.deliveryId);
  if (ended.some((id) => ids.filter((other) => other === id).length > 1)) tally.lateBesideHeldInOneBatch += 1;
  if (as === 'done') tally.done += ended.length;
  if (as === 'retry') tally.putBack += ended.length;
  for (const { hand, outcome } of endings) {
    if (outcome.kind !== 'dead' || !ended.includes(hand.deliveryId)) continue;
    if (outcome.reason === 'rejected') tally.rejected += 1;
    else tally.exhausted += 1;
  }
}
