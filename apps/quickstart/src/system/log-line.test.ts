import { expect, test } from '@jest/globals';
import { terminalText } from './log-line.ts';

test.each([
  ['{"level":"info","msg":"started"}', null],
  ['{"level":"debug","msg":"x"}', null],
  ['{"level":"warn","msg":"pass failed"}', 'warning: pass failed'],
  [
    '{"level":"error","msg":"work left to its lease","error":{"message":"gone\\nfor good","stack":"s"}}',
    'error: work left to its lease: gone',
  ],
  ['{"level":"error","msg":"m","error":"words"}', 'error: m: words'],
  ['{"level":"info","msg":"delivery.attempted","outcome":"done","status":204}', null],
  [
    '{"level":"info","msg":"delivery.attempted","event_id":"evt_1","event_type":"email.sent","webhook_id":"wh_1","attempt":1,"outcome":"retry","status":500,"retry_in_ms":29960}',
    'email.sent evt_1 to wh_1, attempt 1 failed: HTTP 500; tried again in 30 s',
  ],
  [
    '{"level":"info","msg":"delivery.attempted","event_id":"evt_1","event_type":"email.sent","webhook_id":"wh_1","attempt":1,"outcome":"dead","error":"refused name localhost (not a public name)","reason":"rejected"}',
    'email.sent evt_1 to wh_1, attempt 1 failed: refused name localhost (not a public name); dead letter (rejected)',
  ],
  ['Error: a crash', 'Error: a crash'],
  ['"a string"', '"a string"'],
  ['   ', null],
])('of a line of a log the terminal shows what matters: %s', (line, shown) => {
  expect(terminalText(line)).toBe(shown);
});
