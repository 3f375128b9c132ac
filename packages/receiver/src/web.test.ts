import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import * as main from './index.ts';
import { parseEvent, SignatureVerificationError, verifySignature } from './web.ts';

/* vectors.test.ts compares each result with that of the main entry. Here is what a vector cannot say. */

const secret = 'whsec_dGhpcyBpcyBhIHRlc3Qgc2VjcmV0IG9mIDMyIGI';
const body = '{"id":"evt_1","type":"email.sent","subject":"acct_1","data":{"subject":"Grüße 🎉"}}';
const t = 1_795_169_730;
const now = new Date(t * 1000);
const header = `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`;
const request = { header, body, secret, now };

test('any one of several secrets is enough', async () => {
  await verifySignature({ ...request, secret: ['whsec_other', secret] });
  await verifySignature({ ...request, secret: [secret, 'whsec_other'] });
  await expect(verifySignature({ ...request, secret: ['whsec_other'] })).rejects.toThrow(
    SignatureVerificationError,
  );
});

test('parseEvent resolves to the event, and parses nothing before it is verified', async () => {
  const bytes = new TextEncoder().encode(body);
  expect(await parseEvent(request)).toEqual(JSON.parse(body));
  expect(await parseEvent({ ...request, body: bytes })).toEqual(JSON.parse(body));
  expect(await parseEvent({ ...request, body: bytes.buffer })).toEqual(JSON.parse(body));
  await expect(parseEvent({ ...request, body: 'not JSON' })).rejects.toThrow(SignatureVerificationError);
});

test('a wrong call rejects with a TypeError', async () => {
  await expect(verifySignature({ ...request, secret: '' })).rejects.toThrow(TypeError);
  await expect(verifySignature({ ...request, body: {} as string })).rejects.toThrow(TypeError);
});

test('the system clock and 300 s are the defaults', async () => {
  const seconds = Math.floor(Date.now() / 1000);
  const signedAt = (at: number) => {
    const v1 = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
    return verifySignature({ header: `t=${at},v1=${v1}`, body, secret });
  };
  await signedAt(seconds);
  await expect(signedAt(seconds - 400)).rejects.toThrow('300 s are allowed');
});

test('both entries throw the same class', () => {
  expect(main.SignatureVerificationError).toBe(SignatureVerificationError);
});
