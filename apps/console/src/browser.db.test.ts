import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { describeWithChromium, keepScreenshot, MAKES_SCREENSHOTS } from '@postrider/testing';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { expectAccessible, expectFits, setupBrowser, signedIn } from '../test/browser.ts';
import { HOSTILE_NAME, makeHistory, RECOVERY } from '../test/history.ts';
import { makeOutage, RECIPIENT } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';
import { writeWorstTexts } from '../test/worst-texts.ts';

interface Screen {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}
const WIDE: Screen = { viewport: { width: 1280, height: 900 }, colorScheme: 'light' };
const NARROW: Screen = { viewport: { width: 320, height: 740 }, colorScheme: 'dark' };

/** Every page with something on it. `:name` is an id of the outage. */
const PATHS = [
  '/',
  '/accounts/:accountId',
  '/webhooks/:failing',
  '/events/:eventId',
  '/emails/:emailId',
  '/messages/:messageId',
  '/dead-letters',
  '/dead-letters?type=email.opened',
  '/dead-letters?webhook=:failing',
  '/held',
  '/held?status=released',
  '/audit',
  `/search?q=${RECIPIENT}`,
  `/search?q=${encodeURIComponent(HOSTILE_NAME)}`,
  '/recover',
  '/recover?webhook=:accountId&only=all',
  '/recover?webhook=:failing&failing=include',
  '/recover?webhook=:failing&failing=include&only=dead_letters',
  '/recoveries',
  `/recoveries/${RECOVERY}`,
  '/nothing',
  '/audit?what=x',
];

/** axe sees another page of its kind, with the same parts. */
const likeAnother = (path: string) => /failing=include|dead-letters\?webhook/.test(path);

const opened = setupConsole();

describeWithChromium('in a browser', (executablePath) => {
  const chromium = setupBrowser(executablePath);
  let outage: Outage;
  beforeAll(async () => {
    outage = await makeOutage(opened.database, opened.rows);
    await makeHistory(opened.database, outage);
  });

  const pathOf = (written: string) => written.replace(/:(\w+)/g, (_, name: keyof Outage) => outage[name]);

  describe('every page', () => {
    let page: Page;
    let context: BrowserContext;
    let faults: string[];
    beforeAll(async () => {
      ({ page, context } = await signedIn(chromium, opened.url, KEYS.ada));
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    });
    afterAll(() => context.close());
    beforeEach(() => void (faults = []));

    const TITLE =
      'axe finds nothing, it scrolls sideways on neither 1280 nor 320 px, and text of strangers runs nothing';
    test.each(PATHS)(`%s: ${TITLE}`, async (written) => {
      const path = pathOf(written);
      await show(page, WIDE);
      await open(page, path);
      if (!likeAnother(path)) await expectAccessible(page);
      await expectFits(page);
      expect(await page.title()).toContain('Postrider console');
      expect(await page.locator('main script, main img, [style], [onerror]').count()).toBe(0);
      await show(page, NARROW);
      await expectFits(page);
      if (path.includes(outage.eventId) || path.includes(RECOVERY)) await expectAccessible(page);
      expect(faults.filter((fault) => !fault.includes('status of 4'))).toEqual([]);
    });

    test('axe finds nothing on the page to sign in', async () => {
      await page.goto('/sign-in');
      await expectAccessible(page);
    });
  });

  const showInReadme = async () => {
    const query = (sql: string) => opened.database.query(sql);
    await query(`update emails set subject = 'Your order 10482', created_at = created_at - interval '189 s',
                   sent_at = created_at - interval '188 s'`);
    await query(
      `insert into workers (id, number, slots, queue_kind, queue_prefix, queue_id)
       select n::text, n, 512, 'postgres', '', 'postgres' from unnest(array[1386602961, 407713542]) n`,
    );
    // An active relay holds this lock, and makes the days of the attempt log.
    await query('select pg_advisory_lock(72707373, 0)');
    await query(`select make_attempts_day((now() at time zone 'utc')::date + 1)`);
    const options = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } as const;
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada, options);
    keepScreenshot('console-overview.png', await page.screenshot());
    await page.goto(`/events/${outage.eventId}`);
    keepScreenshot('console-story.png', await page.screenshot());
    await query('delete from workers');
    await query('select pg_advisory_unlock(72707373, 0)');
    await context.close();
  };
  // Otherwise it would only see that the pictures exist, as docs-links.test.ts does.
  if (MAKES_SCREENSHOTS) test('the README shows the overview and a story', showInReadme);

  test('a recovery follows its progress by script until it ends, and can be paused', async () => {
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada);
    await page.goto(`/recoveries/${RECOVERY}?live=5`);
    await page.waitForURL(`${opened.url}/recoveries/${RECOVERY}`); // it would load itself again while paused
    const pause = page.getByRole('button', { name: 'Pause updates' });
    await pause.focus();
    await opened.database.query('update recoveries set queued = 20000');
    await page.getByText('20,000 of 28,412 events queued').waitFor();
    await opened.database.query('update recoveries set queued = 28412, ended_at = now()');
    await page.getByText('28,412 of 28,412 events queued').waitFor();
    await page.getByText('has queued all').waitFor();
    await opened.database.query('update recoveries set failed = 28412 - delivered');
    await page.locator('#progress .bad', { hasText: 'finished' }).waitFor();
    await pause.waitFor({ state: 'detached' });
    expect(await page.locator('#main:focus').count()).toBe(1); // the button had it
    expect(await page.locator('#said').textContent()).toBe('The recovery is finished.');
    expect(await page.getByText('Stop…').count()).toBe(0);
    await opened.database.query('update recoveries set failed = 28, queued = 20000, ended_at = null');
    await page.reload();
    await opened.database.query(
      'update recoveries set queued = delivered + failed, stopped = true, ended_at = now()',
    );
    await page.locator('#said', { hasText: 'The recovery is stopped.' }).waitFor({ state: 'attached' });
    await opened.database.query('update recoveries set stopped = false, queued = 28412');
    await context.close();
  });

  test('a recovery says that its numbers are old while they are, and its form to stop has the current ones', async () => {
    await opened.database.query('update recoveries set queued = 20000, ended_at = null');
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada);
    await page.goto(`/recoveries/${RECOVERY}`);
    const clickWhileItLoads = async (route: Route) => {
      await page.getByText('Stop…').click();
      await route.continue();
    };
    await page.route(`**/recoveries/${RECOVERY}`, clickWhileItLoads, { times: 1 });
    const old = page.locator('[data-live-of]').getByText(/^Not updated since \d+ \w+ [\d:]+ UTC\.$/);
    await old.waitFor(); // the form has the focus
    expect(await page.locator('summary:focus').count()).toBe(1);
    await page.getByRole('heading', { name: 'Details' }).click();
    await opened.database.query('update recoveries set queued = 28000');
    await page.getByRole('button', { name: 'Stop with 412 events remaining' }).waitFor();
    await old.waitFor({ state: 'detached' });
    await context.setOffline(true);
    await old.waitFor();
    await context.setOffline(false);
    await old.waitFor({ state: 'detached' });
    await context.clearCookies();
    await page.locator('[data-live-of]').getByText('You are signed out. Reload the page.').waitFor();
    await opened.database.query('update recoveries set queued = 28412, ended_at = now()');
    await context.close();
  });

  test('from a customer’s address to the story and a replay by keyboard alone, without script', async () => {
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada, { javaScriptEnabled: false });
    await page.locator('#q:focus').waitFor(); // the search has the focus
    await page.keyboard.type(` "${RECIPIENT}" `);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/search/);
    await tabTo(page, 'email.bounced');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${opened.url}/events/${outage.eventId}`);
    await tabTo(page, 'Replay… to hooks.shop.example.com/postrider');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('ticket 4812');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/done=/);
    expect(await page.getByRole('status').first().innerText()).toContain(
      '1 event was queued for hooks.shop.example.com/postrider at ',
    );
    await context.close();
  });

  test('a recovery is counted, confirmed and stopped by keyboard alone, without script', async () => {
    await opened.database.query('delete from recoveries');
    await opened.database.query(`update events set created_at = created_at - interval '2 hours'`);
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada, { javaScriptEnabled: false });
    await page.goto(`/recover?webhook=${outage.healthy}&only=all`);
    await tabTo(page, 'Recover 2 events');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/recoveries\/rec_\w+\?done=/);
    await tabTo(page, 'Stop…');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('The recovery is stopped.').waitFor();
    await context.close();
  });

  test('a link on another site opens the page of a user who is signed in, and no other', async () => {
    const { page, context } = await signedIn(chromium, opened.url, KEYS.ada);
    const path = `/events/${outage.eventId}`;
    const ticket = `<a href="${opened.url}${path}">the event</a>`;
    await context.route('https://tickets.example/**', async (route) =>
      route.fulfill({ contentType: 'text/html', body: ticket }),
    );
    await page.goto('https://tickets.example/1');
    await page.getByText('the event').click();
    await page.getByRole('heading', { name: 'email.bounced' }).waitFor();
    expect(page.url()).toBe(`${opened.url}${path}`);
    await context.clearCookies();
    await page.goto('https://tickets.example/1');
    await page.getByText('the event').click();
    await page.waitForURL(`${opened.url}/sign-in?next=${encodeURIComponent(path)}`);
    await context.close();
  });

  describe('the longest texts without a space', () => {
    let page: Page;
    let context: BrowserContext;
    beforeAll(async () => {
      await writeWorstTexts(opened.database, outage);
      ({ page, context } = await signedIn(chromium, opened.url, KEYS.ada));
    });
    afterAll(() => context.close());

    test.each(PATHS.filter((each) => !each.endsWith('failing=include')))(
      'fit on %s on 1280 and on 320 px',
      async (written) => {
        await show(page, WIDE);
        await open(page, pathOf(written));
        await expectFits(page);
        await show(page, NARROW);
        await expectFits(page);
      },
    );
  });
});

/** Changes the window and the colours of a page that may be open. */
async function show(page: Page, { viewport, colorScheme }: Screen): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
}

/** Opens a page, and everything that is folded on it. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
}

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
