import { expect, test } from '@jest/globals';
import type { LogFields } from '@postrider/runtime';
import { createOutageLog } from './limiter.ts';

test('an outage of the limiter logs one line per second, with the number of requests and no stack', () => {
  const lines: [string, LogFields | undefined][] = [];
  let now = 0;
  const tell = createOutageLog({ warn: (msg, fields) => void lines.push([msg, fields]) }, () => now);
  for (; now < 2000; now += 10) tell(new Error('away'));
  const msg = 'request refused: rate limiter unavailable';
  expect(lines).toEqual([
    [msg, { reason: 'away', requests: 1 }],
    [msg, { reason: 'away', requests: 100 }],
  ]);
});
