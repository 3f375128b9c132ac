import type { Experiment } from '../harness/experiment.ts';
import { holdAt } from './hold-at.ts';

const ROUNDS = 8;

export const apiKilledBetweenCommitAndAnswer: Experiment = {
  number: 2,
  title: 'kill -9 the API between COMMIT and the answer',
  shows: 'the client gets no answer; the message exists once; its event exists once and arrives',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint();
    const database = await world.proxy('postgres');
    await world.start('relay');
    await world.start('worker');
    const rounds = world.scaled(ROUNDS);
    for (let round = 1; round <= rounds; round += 1) {
      const api = await world.start('api', { through: [database] });
      // One statement, which commits by itself.
      const committed = holdAt(database, 'send-emails', 'toClient');
      const sending = world.producer.mail(1, { through: world.api });
      await committed(); // Postgres has committed, and the API does not know it
      await world.kill(api);
      await sending;
    }
    const outcomes = world.producer.log.map((entry) => entry.outcome);
    world.claim(
      'no client got an answer',
      outcomes.every((outcome) => outcome === 'unknown'),
      outcomes.join(' '),
    );
    const stored = await world.count('emails');
    world.claim('every message was stored', stored === rounds, `${stored} of ${rounds}`);
    await endpoint.arrived(rounds);
  },
};
