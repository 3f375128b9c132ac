import { expect, test } from '@jest/globals';
import { addressAsWritten } from './session.ts';

test.each([
  ['RCPT TO:<A+tag@Inbox.example>', 'A+tag@Inbox.example'],
  ['rcpt to: <a@xn--bcher-kva.example> NOTIFY=NEVER', 'a@xn--bcher-kva.example'],
  ['RCPT TO:<@relay.example:a@inbox.example>', 'a@inbox.example'],
  ['RCPT TO:<@one.example,@two.example:a@inbox.example>', 'a@inbox.example'],
  ['RCPT TO:<a@[IPv6:2001:DB8::1]>', 'a@[IPv6:2001:DB8::1]'],
  ['RCPT TO:<user%other@inbox.example>', 'user%other@inbox.example'],
  ['MAIL FROM:<> SIZE=1', ''],
  ['MAIL FROM: nobody', null],
])('%j names %j', (command, address) => {
  expect(addressAsWritten(command)).toBe(address);
});
