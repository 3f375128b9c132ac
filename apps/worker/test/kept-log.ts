import { createLogger } from '@postrider/runtime';
import type { Logger } from '@postrider/runtime';
import { streamInto } from '@postrider/testing';

type Line = Readonly<Record<string, unknown>>;

/** The real logger, and the lines that it wrote. */
export interface KeptLog {
  readonly logger: Logger;
  /** All lines, as text. */
  text(): string;
  /** The lines with this message, in order. */
  lines(msg: string): Line[];
  clear(): void;
}

export function keepLog(): KeptLog {
  const written: string[] = [];
  return {
    logger: createLogger({ level: 'debug', service: 'worker', stream: streamInto(written) }),
    text: () => written.join(''),
    lines: (msg) => written.map((line) => JSON.parse(line) as Line).filter((line) => line['msg'] === msg),
    clear: () => void written.splice(0),
  };
}
