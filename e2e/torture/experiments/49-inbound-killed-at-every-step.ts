import { startFakeClamd } from '@postrider/testing';
import type { Direction, FakeClamd, SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { LAST_LINE } from '../harness/world/mail-sender.ts';
import type { ServerProxy, World } from '../harness/world/world.ts';
import { startBlobsInS3 } from './blobs-in-s3.ts';
import type { BlobsInS3 } from './blobs-in-s3.ts';
import { holdAt } from './hold-at.ts';
import { claimRecords, INBOX, readyForMail } from './under-mail.ts';

interface Parts {
  readonly world: World;
  /** The proxy between the inbound process and Postgres. */
  readonly database: ServerProxy;
  readonly clamd: FakeClamd;
  readonly blobs: BlobsInS3;
}

/** A moment in the life of a message, and whether it is stored when the process dies there. */
interface Moment {
  readonly name: string;
  readonly stored: 0 | 1;
  /** Sets the trap. @returns a function that waits until the message stands still there */
  reach(parts: Parts): () => Promise<unknown>;
}

const MOMENTS: readonly Moment[] = [
  { name: 'while a recipient is judged', stored: 0, reach: onStatement('find-recipients', 'toServer') },
  { name: 'while the message comes in', stored: 0, reach: onTheWire(LAST_LINE, 'toServer') },
  { name: 'before its bytes are in the blob store', stored: 0, reach: onPut('of the message') },
  { name: 'with its bytes in the blob store, before it is judged', stored: 0, reach: whileItIsScanned },
  {
    name: 'with its bytes there and those of its attachment not',
    stored: 0,
    reach: onPut('of the attachment'),
  },
  { name: 'before its transaction locks the inbox', stored: 0, reach: onStatement('lock-inbox', 'toServer') },
  { name: 'before its row is written', stored: 0, reach: onStatement('add-message', 'toServer') },
  { name: 'before its event is written', stored: 0, reach: onStatement('record-events', 'toServer') },
  { name: 'before COMMIT', stored: 0, reach: onStatement('COMMIT', 'toServer') },
  { name: 'after COMMIT, before the 250', stored: 1, reach: onStatement('COMMIT', 'toClient') },
  {
    name: 'after the 250, which the sender never sees',
    stored: 1,
    reach: onTheWire('received as', 'toClient'),
  },
];

export const inboundKilledAtEveryStep: Experiment = {
  number: 49,
  title: 'kill -9 the inbound process at every step of a message',
  shows:
    'a committed message is one record and one event, another leaves none; the sender’s next try is accepted',
  runs: 'ci',
  async run(world) {
    const clamd = await startFakeClamd();
    // A proxy can hold a request to S3. A write to a file cannot be held.
    const blobs = await startBlobsInS3();
    try {
      await readyForMail(world, blobs.env);
      const database = await world.proxy('postgres');
      const env = { ...blobs.env, INBOUND_CLAMD: clamd.address };
      const start = () => world.start('inbound', { through: [database], env });
      let inbound = await start();
      for (const moment of world.random.some(MOMENTS, world.scaled(MOMENTS.length)))
        inbound = await dieAt(moment, { world, database, clamd, blobs, inbound, start });
      await claimRecords(world);
    } finally {
      await blobs.close();
      await clamd.close();
    }
  },
};

/** @returns the next inbound process, which has accepted the message */
async function dieAt(
  moment: Moment,
  parts: Parts & { readonly inbound: SystemProcess; readonly start: () => Promise<SystemProcess> },
): Promise<SystemProcess> {
  const { world, database, clamd, blobs, inbound } = parts;
  const reached = moment.reach(parts);
  const before = await world.count('messages');
  const sending = world.sender.send(1, { to: INBOX, bytes: () => 200_000 });
  await reached();
  await world.kill(inbound);
  for (const line of [database, blobs.line, world.sender.line]) line.cut();
  clamd.behaviour = 'scan';
  const stored = (await world.count('messages')) - before;
  world.claim(`killed ${moment.name}: ${moment.stored} stored`, stored === moment.stored, String(stored));
  const successor = await parts.start();
  await sending;
  return successor;
}

function onStatement(name: string, holds: Direction): Moment['reach'] {
  return ({ database }) => holdAt(database, name, holds);
}

/** Holds bytes between the sender and the inbound process. */
function onTheWire(text: string, direction: Direction): Moment['reach'] {
  return ({ world }) => {
    const trap = world.sender.line.trap({ sees: text, in: direction, holds: direction });
    return async () => (await trap.caught()).answered();
  };
}

/** Holds bytes on the way to the blob store: first those of the message, after screening its attachment. */
function onPut(bytes: 'of the message' | 'of the attachment'): Moment['reach'] {
  return ({ blobs }) => {
    const before = blobs.objects.size;
    const skip = bytes === 'of the message' ? 0 : 1;
    const trap = blobs.line.trap({ sees: 'PUT /', in: 'toServer', holds: 'toServer', skip });
    return async () => {
      await (await trap.caught()).answered();
      if (blobs.objects.size !== before + skip) throw new Error('another moment than was meant');
    };
  };
}

/** The scanner has the message and does not answer. The blob store has the bytes. */
function whileItIsScanned({ world, clamd, blobs }: Parts): () => Promise<unknown> {
  clamd.behaviour = 'hang';
  const before = { streams: clamd.streams.length, blobs: blobs.objects.size };
  return () =>
    world.until(
      'the bytes to be stored and the scanner to be asked',
      () => clamd.streams.length > before.streams && blobs.objects.size > before.blobs,
    );
}
