import { quantile } from '@postrider/testing';
import { measureRounds } from '../figure.ts';
import type { Figure } from '../figure.ts';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { judging } from '../result/result.ts';
import { FULL } from '../sizes.ts';
import { LATE_MS_MAX, latenessInWords, readLateness } from './retry-lateness.ts';

/** A round takes three minutes. */
const ROUNDS_MAX = 1;
/** Time for the retries that are due at the end of the measurement. */
const LAST_ONES_SECONDS = 5;

const { webhooks: WEBHOOKS, perSecond: PER_SECOND, seconds: SECONDS } = FULL.activeWebhooks;

export const activeWebhooks: Figure = {
  id: 'active-webhooks',
  title: `Retries of ${WEBHOOKS.toLocaleString('en')} webhooks`,
  group: 'load',
  how:
    `Each of ${WEBHOOKS.toLocaleString('en')} webhooks has one delivery whose first attempt has failed. Their retries come due ` +
    `evenly, ${PER_SECOND} a second. The relay knows none of the webhooks: it learned of all deliveries by one wake-up, as after ` +
    `its start. Measured are the retries that come due in ${SECONDS} seconds, and their lateness as in "Retries start when they ` +
    'are due". One relay and one worker, warmed up.',
  limitSeconds: 360,
  async run(fixture) {
    const { webhooks: count, perSecond, leadInSeconds, seconds } = fixture.sizes.activeWebhooks;
    const { origins } = await fixture.receiver();
    const installation = await fixture.install();
    const endpoints = Array.from(
      { length: count },
      (_, index) => `${origins[index % origins.length] ?? ''}/at-once/${index}`,
    );
    const webhooks = await installation.addWebhooks(await installation.addAccount(), endpoints);
    const untilSeconds = leadInSeconds + seconds;
    const dueWithinSeconds = count / perSecond;
    const measure = async (): Promise<readonly number[]> => {
      await startAnew(installation);
      await warmUp(installation, webhooks.slice(0, 100), () => Promise.resolve());
      const beganAt = performance.now();
      await installation.queue(webhooks, count, { attempts: 1, dueWithinSeconds });
      const leftMs = (untilSeconds + LAST_ONES_SECONDS) * 1000 - (performance.now() - beganAt);
      await new Promise((resolve) => setTimeout(resolve, leftMs));
      await installation.stopAll('gently');
      const due = { dueWithinSeconds, pending: count, fromSeconds: leadInSeconds, untilSeconds };
      const late = await readLateness(installation, due);
      const expected = perSecond * seconds;
      if (late.length < expected) throw new Error(`${late.length} of ${expected} retries are in the log`);
      return late;
    };
    const { check, value } = judging(await measureRounds(fixture, measure, latenessInWords, ROUNDS_MAX));
    return {
      checks: [check('lateness, p99', 'ms', { atMost: LATE_MS_MAX }, (late) => quantile(late, 0.99))],
      values: [
        value('lateness, p50', 'ms', (late) => quantile(late, 0.5)),
        value('lateness, longest', 'ms', (late) => quantile(late, 1)),
      ],
    };
  },
};
