import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { claimRecords, INBOX, makeInbox } from './under-mail.ts';

const KILLS = 12;
const DONE_MAX = 12;
const MORE_MS_MAX = 25;
const AT_ONCE = 4;
const ATTACHMENT_BYTES_MAX = 100_000;

export const allKilledAtRandom: Experiment = {
  number: 55,
  title: 'kill -9 the one process with all roles while clients send and mail comes in',
  shows:
    'each message acknowledged to a client, or answered 250, exists once with its event, and each event arrives',
  runs: 'ci',
  async run(world) {
    await world.endpoint({ reaction: takingMs(20, answer(200)) });
    let all = await world.start('all');
    await makeInbox(world);
    const senders = new AbortController();
    const receiving = world.sender.send(Infinity, {
      to: INBOX,
      atOnce: AT_ONCE,
      bytes: () => world.random.between(0, ATTACHMENT_BYTES_MAX),
      until: senders.signal,
    });
    receiving.catch(() => undefined); // thrown where it is awaited
    const sent = (): number =>
      world.producer.log.filter(({ outcome, id }) => outcome === 'ok' && id !== null).length;
    for (let kill = 1; kill <= world.scaled(KILLS); kill += 1) {
      const clients = new AbortController();
      const enough = sent() + world.random.between(1, DONE_MAX);
      const enoughTaken = world.sender.taken + world.random.between(1, DONE_MAX);
      const sending = world.producer.mail(Infinity, { through: world.api, until: clients.signal });
      await world.until(
        'messages to be acknowledged and taken',
        () => sent() >= enough && world.sender.taken >= enoughTaken,
      );
      await delay(world.random.between(0, MORE_MS_MAX));
      clients.abort();
      await world.kill(all);
      await sending;
      all = await world.start('all');
    }
    senders.abort();
    await receiving;
    const refused = world.sender.refused();
    world.claim('some senders had to try again', refused > 0, String(refused));
    await claimRecords(world);
  },
};
