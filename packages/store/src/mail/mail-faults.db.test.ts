import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EmailId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { takeHeld } from '../../test/taken-email.ts';
import { createMailWork } from './mail-work.ts';
import type { MailWork } from './mail-work.ts';

const store = setupStore();
let work: MailWork;
let emailId: EmailId;

beforeAll(async () => {
  work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
});
beforeEach(async () => {
  emailId = await createRows(store.outside).email();
});

const taken = async (claim: number) => takeHeld(work, { emailId, claim });

describe('send attempts without a recorded outcome', () => {
  test('are counted by the take, which returns the earlier ones', async () => {
    expect((await taken(0)).faults).toBe(0);
    expect((await taken(1)).faults).toBe(1);
    expect((await taken(2)).faults).toBe(2);
  });

  test('do not count after a retry, or when the message was not the cause', async () => {
    await work.retry([{ email: await taken(0), delayMs: 0, attempts: 1 }]);
    const again = await taken(2);
    expect(again.faults).toBe(0);
    await work.forgiveFault({ emailId, claim: 2 });
    expect((await taken(3)).faults).toBe(0);
    expect((await taken(4)).faults).toBe(1);
  });

  test('never fall below zero, however often they are forgiven', async () => {
    await taken(0);
    for (let time = 0; time < 3; time += 1) await work.forgiveFault({ emailId, claim: 0 });
    expect((await taken(1)).faults).toBe(0);
  });

  test('are not forgiven by a job whose take never committed', async () => {
    await taken(0);
    await work.forgiveFault({ emailId, claim: 1 });
    expect((await taken(1)).faults).toBe(1);
  });
});
