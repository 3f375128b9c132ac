import { beforeAll, expect, jest, test } from '@jest/globals';
import { describeWithChromium, keepScreenshot } from '@postrider/testing';
import type { Page } from 'playwright-core';
import { expectAccessible, expectFits, setupBrowser, signedIn } from '../test/browser.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

jest.setTimeout(120_000);

const opened = setupConsole();

describeWithChromium('in a browser', (executablePath) => {
  const chromium = setupBrowser(executablePath);
  let outage: Outage;
  beforeAll(async () => {
    outage = await makeOutage(opened.database, opened.rows);
  });

  /** Every page with something on it. */
  const paths = () => [
    '/',
    `/accounts/${outage.accountId}`,
    `/webhooks/${outage.failing}`,
    `/events/${outage.eventId}`,
    `/emails/${outage.emailId}`,
    `/messages/${outage.messageId}`,
    '/dead-letters',
    '/dead-letters?type=email.opened',
    '/held',
    '/audit',
    '/nothing',
    '/audit?what=x',
  ];

  test.each([
    ['on a wide screen', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
    ['on 360 px, in the dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
  ] as const)('axe finds nothing, and no page scrolls sideways, %s', async (_, options) => {
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada, options);
    for (const path of paths()) {
      await page.goto(path);
      await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
      await expectAccessible(page);
      await expectFits(page);
    }
    await page.goto('/sign-in');
    await expectAccessible(page);
    await context.close();
  });

  test('an answer that holds a script runs nothing', async () => {
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada);
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => faults.push(message.text()));
    for (const path of paths().slice(0, 10)) {
      await page.goto(path);
      expect(await page.title()).toContain('Postrider console');
      expect(await page.locator('main script, main img, [style], [onerror]').count()).toBe(0);
    }
    expect(faults).toEqual([]);
    await context.close();
  });

  test('the README shows the overview and a story', async () => {
    const query = (sql: string) => opened.database.query(sql);
    await query(`update emails set subject = 'Your order 10482', created_at = created_at - interval '189 s',
                   sent_at = created_at - interval '188 s'`);
    await query(
      `insert into workers (id, slots, queue_kind, queue_prefix) values ('w1', 512, 'postgres', '')`,
    );
    const options = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } as const;
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada, options);
    keepScreenshot('console-overview.png', await page.screenshot());
    await page.goto(`/events/${outage.eventId}`);
    keepScreenshot('console-story.png', await page.screenshot());
    await query('delete from workers');
    await context.close();
  });

  test('an event is replayed by keyboard alone, without script', async () => {
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada, { javaScriptEnabled: false });
    await page.goto(`/events/${outage.eventId}`);
    await tabTo(page, 'Replay… to hooks.shop.example.com/postrider');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('ticket 4812');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/done=/);
    expect(await page.getByRole('status').first().innerText()).toContain(
      '1 event is queued for hooks.shop.example.com/postrider.',
    );
    await context.close();
  });
});

/** Presses Tab until the element with this text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let pressed = 0; pressed < 100; pressed += 1) {
    await page.keyboard.press('Tab');
    const focused = await page
      .locator(':focus')
      .textContent({ timeout: 1_000 })
      .catch(() => null);
    if (focused?.trim() === text) return;
  }
  throw new Error(`the keyboard does not reach ${text}`);
}
