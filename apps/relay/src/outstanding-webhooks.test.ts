import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import type { DeliveryPosition, ScannedWebhook } from '@postrider/store';
import { OutstandingWebhooks } from './outstanding-webhooks.ts';

const W = 'wh_1' as WebhookId;
const at = (second: number): DeliveryPosition => ({
  dueAt: `2026-01-01 00:00:0${second}+00`,
  deliveryId: '0',
});

function scannedAs(found: Partial<ScannedWebhook>): ScannedWebhook {
  return {
    webhookId: W,
    outstanding: true,
    dueSoon: true,
    leased: false,
    stuck: false,
    firstDue: null,
    scanFrom: at(1),
    ...found,
  };
}

describe('the outstanding webhooks', () => {
  test('are those that were claimed for, swept or scanned with deliveries; each is taken once', () => {
    const outstanding = new OutstandingWebhooks();
    outstanding.add([W, W]);
    expect(outstanding.takeAll()).toEqual([W]);
    expect(outstanding.takeAll()).toEqual([]);
    const requests = outstanding.scanRequests([W]);
    outstanding.scanned(requests, [scannedAs({})]);
    expect(outstanding.takeAll()).toEqual([W]);
    outstanding.scanned(outstanding.scanRequests([W]), [scannedAs({ outstanding: false })]);
    expect(outstanding.takeAll()).toEqual([]);
    outstanding.swept([{ webhookId: W, scanFrom: at(1) }]);
    expect(outstanding.takeAll()).toEqual([W]);
  });

  test('are claimed for from scanFrom, at the limit from the first due delivery', () => {
    const outstanding = new OutstandingWebhooks();
    expect(outstanding.claimFrom(W, true)).toBeNull();
    outstanding.scanned(outstanding.scanRequests([W]), [scannedAs({ scanFrom: at(1), firstDue: at(3) })]);
    expect([outstanding.claimFrom(W, false), outstanding.claimFrom(W, true)]).toEqual([at(1), at(3)]);
    outstanding.scanned(outstanding.scanRequests([W]), [scannedAs({ scanFrom: at(4), firstDue: null })]);
    expect([outstanding.claimFrom(W, false), outstanding.claimFrom(W, true)]).toEqual([at(4), at(4)]);
  });

  test('keep an earlier scanFrom that a sweep found during the scan', () => {
    const outstanding = new OutstandingWebhooks();
    outstanding.swept([{ webhookId: W, scanFrom: at(5) }]);
    const requests = outstanding.scanRequests([W]);
    outstanding.swept([{ webhookId: W, scanFrom: at(2) }]);
    outstanding.scanned(requests, [scannedAs({ scanFrom: at(6) })]);
    expect(outstanding.claimFrom(W, false)).toEqual(at(2));
    outstanding.scanned(outstanding.scanRequests([W]), [scannedAs({ scanFrom: at(6) })]);
    expect(outstanding.claimFrom(W, false)).toEqual(at(6));
  });

  test('are remembered up to 50,000; those noted longest ago are forgotten first', () => {
    const outstanding = new OutstandingWebhooks();
    const ids = Array.from({ length: 50_001 }, (_, n) => `wh_${n}` as WebhookId);
    outstanding.swept(ids.map((webhookId) => ({ webhookId, scanFrom: at(1) })));
    expect(ids.map((id) => outstanding.claimFrom(id, false) === null).indexOf(false)).toBe(1);
  });
});
