import { createHash } from 'node:crypto';
import { systemClock } from '@postrider/runtime';
import type { Prerequisites } from '../prerequisites.ts';
import { Resource } from '../resource.ts';
import { databaseName } from '../settings.ts';
import type { Settings } from '../settings.ts';
import { DemonstrationFile } from '../state/demonstration-file.ts';
import { reachableHost, urlHost } from '../system/ports.ts';
import type { Terminal } from '../terminal.ts';
import { Arrivals } from './arrivals.ts';
import { makeLoopbackCertificate, writeTrustFile } from './certificates.ts';
import { Receiver } from './receiver.ts';
import type { Arrival } from './receiver.ts';
import { runDemonstration } from './run.ts';

export interface DemonstrationParts {
  readonly settings: Settings;
  readonly prerequisites: Prerequisites;
  readonly terminal: Terminal;
}

/** The customer's part: a receiver, and one mail with its event. */
export function createDemonstration({ settings, prerequisites, terminal }: DemonstrationParts) {
  const file = new DemonstrationFile(settings.dataDir, databaseName(settings.databaseUrl));
  const arrivals = new Arrivals();
  const receiver = new Resource(
    () => openReceiver(settings, terminal, file, arrivals),
    ({ receiver: opened }) => opened.close(),
  );
  const run = () =>
    runDemonstration({
      settings,
      terminal,
      arrivals,
      file,
      databaseUrl: prerequisites.connections().databaseUrl,
      baseUrl: `http://${urlHost(reachableHost(settings.host))}:${prerequisites.port.value}`,
      smtp: { host: reachableHost(settings.smtpHost), port: prerequisites.smtpPort.value },
      console: {
        url: `http://${urlHost(reachableHost(settings.consoleHost))}:${prerequisites.consolePort.value}`,
        key: prerequisites.consoleKey.value.key,
      },
      receiver: receiver.value.receiver,
      // Identifies the key in the demonstration's file, without the key itself.
      sealedWith: createHash('sha256')
        .update(prerequisites.connections().secretsKey)
        .digest('hex')
        .slice(0, 12),
    });
  return { receiver, show: { start: run } };
}

async function openReceiver(
  settings: Settings,
  terminal: Terminal,
  file: DemonstrationFile,
  arrivals: Arrivals,
): Promise<{
  receiver: Receiver;
  /** Path of the certificates that the worker must trust. */
  trustFile: string;
}> {
  const certificate = await makeLoopbackCertificate(systemClock.now());
  const trustFile = writeTrustFile(
    settings.dataDir,
    certificate.certPem,
    settings.env['NODE_EXTRA_CA_CERTS'],
  );
  const kept = file.read();
  const receiver = await Receiver.start(kept.receiverPort ?? 0, {
    certificate,
    signatureHeader: settings.signatureHeader,
    onArrival: (arrival) => {
      terminal.say('event', inWords(arrival));
      arrivals.add(arrival);
    },
    forward: settings.forward,
    onRefusal: (words) => terminal.say('event', words),
  });
  if (receiver.port !== kept.receiverPort) file.keep({ receiverPort: receiver.port });
  // Events that the last start did not deliver arrive at once.
  if (kept.webhook?.endpoint === receiver.endpoint) receiver.trust(kept.webhook.signingSecret);
  return { receiver, trustFile };
}

function inWords({ event, receivedAtMs, again }: Arrival): string {
  const mailId = mailIdOf(event);
  const about = mailId === null ? '' : ` of ${mailId}`;
  const age = receivedAtMs - Date.parse(event.created_at);
  const when = again ? 'came before' : `${age} ms after its created_at`;
  return `${event.type} ${event.id}${about}, signature verified, ${when}`;
}

/** The id of the sent or received mail. Null for an event without one. */
function mailIdOf({ data }: Arrival['event']): string | null {
  if ('email_id' in data) return data.email_id;
  return 'object' in data ? data.id : null;
}
