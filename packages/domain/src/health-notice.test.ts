import { describe, expect, test } from '@jest/globals';
import { DEAD_LETTERS_IN_NOTICE_MAX, healthNotice, operatorEvent } from './health-notice.ts';
import type { HealthChange } from './health-notice.ts';
import type { AccountId, WebhookId } from './ids.ts';

const failing: HealthChange = {
  webhookId: 'wh_1' as WebhookId,
  accountId: 'acct_1' as AccountId,
  endpoint: 'https://hooks.example.com:8443/in?token=secret-token',
  failingSince: new Date('2026-11-26T03:00:00.000Z'),
  recoveredAt: null,
  lastError: 'HTTP 503',
  deadLetters: 12,
};
const recovered: HealthChange = {
  ...failing,
  failingSince: null,
  recoveredAt: new Date('2026-11-26T04:00:00.000Z'),
  lastError: null,
};
const addresses = { from: 'Postrider <notices@postrider.example>', to: 'ops@shop.example' };
const retention = { days: 90, perWebhookMax: 10_000 };
const clock = { now: () => new Date('2026-11-26T03:05:00.000Z') };

const noticeOf = (change: HealthChange) => healthNotice(change, addresses, retention);

describe('the mail about a failing webhook', () => {
  test('names the webhook, its host, since when, the last error, the dead letters and what to do', () => {
    const { from, to, subject, html, text, headers } = noticeOf(failing);
    expect({ from, to, subject, html }).toEqual({
      from: addresses.from,
      to: ['ops@shop.example'],
      subject: 'Webhook wh_1 fails: hooks.example.com:8443',
      html: null,
    });
    expect(headers).toEqual({ 'Auto-Submitted': 'auto-generated' });
    expect(text?.split('\n').slice(2, 8)).toEqual([
      'webhook:       wh_1',
      'account:       acct_1',
      'host:          hooks.example.com:8443',
      'failing since: 2026-11-26T03:00:00.000Z',
      'last error:    HTTP 503',
      'dead letters:  12',
    ]);
    expect(text).toContain('kept for\n  90 days. A webhook keeps 10000 dead letters');
    expect(text).toContain('After HTTP 410, or when\n  the address is refused, it does not try again.');
    expect(text).toContain('GET /v1/webhooks/wh_1/attempts');
    expect(text).toContain('POST /v1/webhooks/wh_1/recover {"since": "2026-11-26T02:00:00.000Z"}');
  });

  test('says that more dead letters than counted may be kept', () => {
    expect(noticeOf({ ...failing, deadLetters: DEAD_LETTERS_IN_NOTICE_MAX }).text).toContain(
      '1000 or more\n',
    );
  });

  test('says when no failed attempt is logged', () => {
    expect(noticeOf({ ...failing, lastError: null }).text).toContain('last error:    not logged');
  });
});

describe('the mail about a webhook that is well again', () => {
  test('says how to send again what it missed', () => {
    const { subject, text } = noticeOf(recovered);
    expect(subject).toBe('Webhook wh_1 is well again: hooks.example.com:8443');
    expect(text).toContain('well since:    2026-11-26T04:00:00.000Z\ndead letters:  12\n');
    expect(text).toContain('POST /v1/webhooks/wh_1/recover {"since": "…"}');
  });

  test('asks for nothing when there is no dead letter', () => {
    const { text } = noticeOf({ ...recovered, deadLetters: 0 });
    expect(text).toContain('You need to do nothing.');
    expect(text).not.toContain('recover');
  });
});

describe('the event for the operator', () => {
  test('has the envelope of an event, and the facts of the mail', () => {
    const { id, type, body } = operatorEvent(failing, clock);
    expect(type).toBe('webhook.failing');
    expect(JSON.parse(body)).toEqual({
      id,
      type,
      subject: 'acct_1',
      created_at: '2026-11-26T03:05:00.000Z',
      data: {
        webhook_id: 'wh_1',
        account_id: 'acct_1',
        host: 'hooks.example.com:8443',
        failing_since: '2026-11-26T03:00:00.000Z',
        recovered_at: null,
        last_error: 'HTTP 503',
        dead_letters: 12,
      },
    });
  });

  test('says that a webhook recovered', () => {
    const { type, body } = operatorEvent(recovered, clock);
    expect(type).toBe('webhook.recovered');
    expect(JSON.parse(body)).toMatchObject({
      type,
      data: { failing_since: null, recovered_at: '2026-11-26T04:00:00.000Z', last_error: null },
    });
  });

  test('has no part of the endpoint behind its host', () => {
    for (const change of [failing, recovered]) {
      expect(`${operatorEvent(change, clock).body}${noticeOf(change).text}`).not.toContain('secret-token');
    }
  });
});
