import { createLogger } from '@postrider/runtime';
import { cleanUpAfterEach, openSmtpClient, type SmtpClient, streamInto } from '@postrider/testing';
import type { PipelineOutcome } from '../src/pipeline/mail-pipeline.ts';
import type { MessageSink, ReceivedEnvelope } from '../src/pipeline/message-sink.ts';
import { InboundServer } from '../src/smtp/inbound-server.ts';
import type { InboundServerOptions } from '../src/smtp/inbound-server.ts';

export interface Received {
  readonly raw: Buffer;
  readonly envelope: ReceivedEnvelope;
  /** The message without our `Received:` field. */
  readonly message: string;
}

/** A running server with everything that it received and reported. */
export interface TestServer {
  readonly inbound: InboundServer;
  readonly port: number;
  /** A test may empty it. */
  readonly received: Received[];
  /** Recipients that the server asked the sink about. */
  readonly asked: readonly string[];
  /** `code reason` of each refusal. */
  readonly refusals: readonly string[];
  /** Numbers of open sessions, as reported. */
  readonly sessions: readonly number[];
  log(): string;
  /** Opens a raw connection to 127.0.0.1 or to `host`, from `from`. It closes at the end of the test. */
  open(host?: string, from?: string): Promise<SmtpClient>;
  /** Opens a connection, reads the greeting and says hello. */
  greet(hello?: string): Promise<SmtpClient>;
}

export type TestServerOptions = Partial<Omit<InboundServerOptions, 'sink'>> & {
  readonly accepts?: MessageSink['accepts'];
  readonly receive?: (raw: Buffer, envelope: ReceivedEnvelope) => Promise<PipelineOutcome>;
};

export const HOSTNAME = 'mx.postrider.example';

/** Knows every address at `inbox.example`. */
async function acceptsInbox(recipient: string): Promise<boolean> {
  return recipient.endsWith('@inbox.example');
}

/** The answer to a message that is stored. */
export const STORED: PipelineOutcome = { kind: 'stored', messages: [] };

/** Makes servers. Unless `atEnd` says otherwise, they and their clients end after each test. */
export function testServers(atEnd = cleanUpAfterEach()) {
  async function start(options: TestServerOptions = {}): Promise<TestServer> {
    const received: Received[] = [];
    const asked: string[] = [];
    const refusals: string[] = [];
    const sessions: number[] = [];
    const lines: string[] = [];
    const { accepts = acceptsInbox, receive = async () => STORED, ...rest } = options;
    const sink: MessageSink = {
      accepts: (recipient) => {
        asked.push(recipient);
        return accepts(recipient);
      },
      receive: (raw, envelope) => {
        received.push({ raw, envelope, message: raw.subarray(envelope.traceBytes).toString('latin1') });
        return receive(raw, envelope);
      },
    };
    const inbound = new InboundServer({
      host: '127.0.0.1',
      port: 0,
      protocol: 'smtp',
      hostname: HOSTNAME,
      tls: null,
      sink,
      logger: createLogger({ level: 'debug', service: 'inbound', stream: streamInto(lines) }),
      onRefusal: (code, reason) => refusals.push(`${code} ${reason}`),
      onSession: (open) => sessions.push(open),
      ...rest,
    });
    await inbound.start();
    atEnd(() => inbound.stop());
    const port = inbound.port();
    const open = async (host?: string, from?: string) => {
      const client = await openSmtpClient(port, host, from);
      atEnd(() => client.destroy());
      return client;
    };
    const greet = async (
      hello = rest.protocol === 'lmtp' ? 'LHLO client.example' : 'EHLO client.example',
    ) => {
      const client = await open();
      await client.answer();
      await client.say(hello);
      return client;
    };
    const log = () => lines.join('');
    return { inbound, port, received, asked, refusals, sessions, log, open, greet };
  }

  return { start };
}

export const FROM = 'MAIL FROM:<sender@client.example>';
export const TO = 'RCPT TO:<a@inbox.example>';

/** Sends sender and recipients. Returns the 354 answer. */
export async function beginMessage(client: SmtpClient, ...recipients: string[]): Promise<string> {
  await client.say(FROM);
  for (const recipient of recipients.length === 0 ? [TO] : recipients) await client.say(recipient);
  return client.say('DATA');
}
