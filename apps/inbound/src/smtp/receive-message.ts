import type { Clock } from '@postrider/domain';
import { BlockBuffer, within } from '@postrider/limits';
import type { HeldBytes } from '@postrider/limits';
import type { Logger } from '@postrider/runtime';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { PipelineOutcome } from '../pipeline/mail-pipeline.ts';
import type { MessageSink, ReceivedEnvelope } from '../pipeline/message-sink.ts';
import type { InboundLimits } from './limits.ts';
import { MESSAGE_TOO_BIG, Refusal } from './refusal.ts';
import { traceHeader } from './trace-header.ts';

export interface ReceivingParts {
  readonly sink: Pick<MessageSink, 'receive'>;
  /** Shares of memory and worker threads belong to this key: an address, an IPv6 /64, or a session (LMTP). */
  readonly client: string;
  /** The memory of this message. */
  readonly bytes: HeldBytes;
  readonly limits: InboundLimits;
  readonly hostname: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The answer to the client after the message has ended: the text of a 250, or a refusal. */
type Answer = string | Refusal;

/** Reads one whole message and passes it to the sink. Never rejects. @returns null when the client left */
export async function receiveMessage(
  receiving: ReceivingParts,
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
): Promise<Answer | null> {
  const { bytes, limits } = receiving;
  const id = `${session.id}.${session.transaction}`;
  const trace = traceOf(receiving, session, id);
  const buffer = new BlockBuffer(bytes);
  const fits = buffer.append(trace);
  const fault = await readMessage(stream, buffer, fits, limits);
  if (fault !== null) {
    buffer.release();
    return fault === 'disconnected' ? null : refusalOf(fault, limits);
  }
  const envelope = envelopeOf(session, receiving.client, trace.length);
  return passToSink(receiving, buffer, envelope, id);
}

type Fault = 'size' | 'memory' | 'data_timeout' | 'data_too_slow' | 'disconnected';

/**
 * Reads to the end of the message. It also reads a message that it does not keep: a client reads no answer
 * before its final dot.
 * @returns the fault, or null when the whole message is in `buffer`
 */
function readMessage(
  stream: SMTPServerDataStream,
  buffer: BlockBuffer,
  fits: boolean,
  { dataTimeoutMs, dataPeriodMs, dataPeriodBytesMin }: InboundLimits,
): Promise<Fault | null> {
  return new Promise((resolve) => {
    let keeps = fits;
    if (!keeps) buffer.release();
    const settle = (fault: Fault | null) => {
      clearTimeout(deadline);
      clearInterval(periods);
      resolve(fault);
    };
    const end = (fault: Fault) => {
      settle(fault);
      // smtp-server answers before the end of a message only after its stream is destroyed.
      stream.destroy();
    };
    const deadline = setTimeout(() => end('data_timeout'), dataTimeoutMs);
    let periodBytes = 0;
    const periods = setInterval(() => {
      if (periodBytes < dataPeriodBytesMin) end('data_too_slow');
      periodBytes = 0;
    }, dataPeriodMs);
    stream.on('data', (bytes: Buffer) => {
      periodBytes += bytes.length;
      if (!keeps || (!stream.sizeExceeded && buffer.append(bytes))) return;
      keeps = false;
      buffer.release();
    });
    stream.once('end', () => {
      if (stream.sizeExceeded) settle('size');
      else settle(keeps ? null : 'memory');
    });
    stream.once('error', () => settle('disconnected'));
    stream.once('close', () => settle('disconnected'));
  });
}

function refusalOf(fault: Exclude<Fault, 'disconnected'>, limits: InboundLimits): Refusal {
  switch (fault) {
    case 'size':
      return new Refusal(
        552,
        'size',
        `Message exceeds the maximum of ${limits.messageBytesMax} bytes`,
        MESSAGE_TOO_BIG,
      );
    case 'memory':
      return new Refusal(451, 'memory', 'Too much mail at a time, try again later');
    case 'data_timeout':
      return new Refusal(421, 'data_timeout', 'Timeout in the message, closing connection');
    case 'data_too_slow':
      return new Refusal(421, 'data_too_slow', 'The message arrives too slowly, closing connection');
  }
}

async function passToSink(
  { sink, limits, logger }: ReceivingParts,
  buffer: BlockBuffer,
  envelope: ReceivedEnvelope,
  id: string,
): Promise<Answer> {
  const receive = async () => {
    try {
      return await sink.receive(buffer.join(), envelope);
    } finally {
      // A timeout does not release the bytes: the sink still reads them.
      buffer.release();
    }
  };
  const { sessionId, remoteAddress } = envelope;
  const fields = { session_id: sessionId, receipt_id: id, client_address: remoteAddress };
  try {
    const receipt = await within<PipelineOutcome | null>(receive, limits.receiveTimeoutMs, () => null);
    if (receipt !== null) return answerTo(receipt, id);
    logger.warn('message not received in time', fields);
  } catch (error) {
    logger.warn('message not received', { ...fields, error });
  }
  return new Refusal(451, 'unavailable', 'Message not received, try again later');
}

function answerTo(receipt: PipelineOutcome, id: string): Answer {
  switch (receipt.kind) {
    case 'stored':
      return `OK, received as ${id}`;
    case 'nobody':
      return new Refusal(550, 'refused_by_intake', 'No such recipient here');
    case 'later':
      return new Refusal(451, 'not_received', 'The message cannot be stored at the moment');
  }
}

function traceOf({ hostname, clock }: ReceivingParts, session: SMTPServerSession, id: string): Buffer {
  const fields = {
    helo: session.hostNameAppearsAs,
    remoteAddress: session.remoteAddress,
    hostname,
    protocol: session.transmissionType,
    id,
    receivedAt: clock.now(),
  };
  return Buffer.from(traceHeader(fields), 'latin1');
}

function envelopeOf(session: SMTPServerSession, client: string, traceBytes: number): ReceivedEnvelope {
  const { mailFrom, rcptTo } = session.envelope;
  return {
    client,
    remoteAddress: session.remoteAddress,
    helo: session.hostNameAppearsAs,
    mailFrom: mailFrom === false ? '' : mailFrom.address,
    recipients: rcptTo.map(({ address }) => address),
    tls: session.secure,
    sessionId: session.id,
    traceBytes,
  };
}
