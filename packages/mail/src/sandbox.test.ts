import { chmod, mkdtemp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { notificationDetailOf } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import PostalMime from 'postal-mime';
import { outgoingMessage } from '../test/outgoing-message.ts';
import { createMailProvider } from './create-mail-provider.ts';
import { createSandboxTransport } from './sandbox.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sandbox-'));
  await chmod(root, 0o755);
});
afterAll(() => rm(root, { recursive: true }));

const at = (name: string) => `${name}@sandbox.postrider.example`;
const sandbox = () => createSandboxTransport(join(root, 'kept'));

describe('an ordinary message', () => {
  test('is accepted, with nothing to report, and kept whole as <email id>.eml', async () => {
    const directory = join(root, 'made', 'as', 'needed');
    const provider = createSandboxTransport(directory);
    expect(await provider.send(outgoingMessage({ bcc: ['b@example.net'] }))).toEqual({
      kind: 'accepted',
      providerMessageId: '<em_01jd0000000000000000000001@mail.example.com>',
      notifications: [],
    });
    expect(await readdir(directory)).toEqual(['em_01jd0000000000000000000001.eml']);
    const mail = await PostalMime.parse(await readFile(join(directory, 'em_01jd0000000000000000000001.eml')));
    expect(mail).toMatchObject({ subject: 'Your order', to: [{ address: 'jane@example.net' }] });
  });

  test.each(['made', 'there with other rights'])(
    'can be read by nobody but its owner, in a directory that was %s',
    async (how) => {
      const directory = join(root, `private ${how}`);
      if (how !== 'made') {
        await mkdir(directory);
        await chmod(directory, 0o755);
      }
      await createSandboxTransport(directory).send(outgoingMessage());
      const modes = [directory, join(directory, 'em_01jd0000000000000000000001.eml')].map(
        async (path) => (await stat(path)).mode & 0o777,
      );
      expect(await Promise.all(modes)).toEqual([0o700, 0o600]);
    },
  );

  test('is kept when the folder was removed after an earlier one, and only its owner can read it', async () => {
    const directory = join(root, 'removed');
    const provider = createSandboxTransport(directory);
    await provider.send(outgoingMessage());
    await rm(directory, { recursive: true });
    const all = await Promise.all(Array.from({ length: 5 }, () => provider.send(outgoingMessage())));
    expect(all.map(({ kind }) => kind)).toEqual(Array.from({ length: 5 }, () => 'accepted'));
    expect(await readdir(directory)).toEqual(['em_01jd0000000000000000000001.eml']);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  test('sent twice, also at once, is one file and nothing else', async () => {
    const directory = join(root, 'twice');
    const provider = createSandboxTransport(directory);
    await Promise.all(Array.from({ length: 5 }, () => provider.send(outgoingMessage())));
    expect(await readdir(directory)).toEqual(['em_01jd0000000000000000000001.eml']);
  });

  test('is deferred, without a path or a code in the words, while the folder cannot be written', async () => {
    const file = join(root, 'a-file');
    await writeFile(file, '');
    const answer = await createSandboxTransport(join(file, 'below')).send(outgoingMessage());
    const error = 'the sandbox cannot keep the message';
    expect(answer).toEqual({ kind: 'deferred', error, code: 'ENOTDIR' });
  });

  test('to a special name at another domain, or another name at the sandbox, stays ordinary', async () => {
    const to = [
      'bounced@example.net',
      at('somebody'),
      'refused@x.sandbox.postrider.example',
      at('x+bounced'),
    ];
    expect(await sandbox().send(outgoingMessage({ to }))).toMatchObject({
      kind: 'accepted',
      notifications: [],
    });
  });
});

describe('a special recipient acts by name', () => {
  test.each([
    ['delivered', 'email.delivered', { smtp_response: '250 2.0.0 OK: queued by the sandbox' }],
    [
      'bounced',
      'email.bounced',
      {
        bounce_type: 'Permanent',
        bounce_sub_type: 'General',
        diagnostic: `smtp; 550 5.1.1 <${at('bounced')}>: Recipient address rejected: User unknown`,
      },
    ],
    [
      'soft-bounced',
      'email.soft_bounced',
      {
        bounce_type: 'Transient',
        bounce_sub_type: 'MailboxFull',
        diagnostic: 'smtp; 452 4.2.2 The email account that you tried to reach is over quota',
      },
    ],
    ['complained', 'email.complained', { complaint_type: 'abuse' }],
    ['delayed', 'email.delivery_delayed', { diagnostic: 'smtp; 421 4.4.1 Unable to connect to remote host' }],
    ['rejected', 'email.rejected', { reject_reason: 'Bad content' }],
    ['opened', 'email.opened', {}],
    ['clicked', 'email.clicked', { link: 'https://sandbox.postrider.example/clicked' }],
  ])('%s@ is accepted, then reported as %s', async (name, type, detail) => {
    const answer = await sandbox().send(outgoingMessage({ to: [at(name)] }));
    expect(answer).toMatchObject({
      kind: 'accepted',
      notifications: [{ type, recipients: [at(name)], detail: notificationDetailOf(detail) }],
    });
  });

  test('refused@ refuses the whole message, and deferred@ defers it; neither is kept', async () => {
    const directory = join(root, 'none-kept');
    const provider = createSandboxTransport(directory);
    const to = ['jane@example.net', at('bounced')];
    expect(await provider.send(outgoingMessage({ to: [...to, at('refused')] }))).toEqual({
      kind: 'refused',
      error: `550 5.7.1 message refused by the sandbox for <${at('refused')}>`,
    });
    expect(await provider.send(outgoingMessage({ to: [...to, at('deferred')] }))).toEqual({
      kind: 'deferred',
      error: `451 4.3.2 the sandbox is not available for <${at('deferred')}>`,
    });
    await expect(readdir(directory)).rejects.toThrow('ENOENT');
  });

  test('refused@ goes before deferred@: a final no is final', async () => {
    const answer = await sandbox().send(outgoingMessage({ to: [at('deferred')], cc: [at('refused')] }));
    expect(answer.kind).toBe('refused');
  });

  test('with a +tag, in any case, with a display name, and in cc or bcc', async () => {
    const answer = await sandbox().send(
      outgoingMessage({ cc: [at('Bounced+Order-42')], bcc: [`Jane <${at('DELIVERED').toUpperCase()}>`] }),
    );
    expect(answer).toMatchObject({
      notifications: [
        { type: 'email.delivered', recipients: ['DELIVERED@SANDBOX.POSTRIDER.EXAMPLE'] },
        { type: 'email.bounced', recipients: [at('Bounced+Order-42')] },
      ],
    });
  });

  test('several of one kind share one notification; one named twice is named once', async () => {
    const to = [at('bounced+1'), 'jane@example.net', at('bounced+2'), at('bounced+1')];
    expect(await sandbox().send(outgoingMessage({ to }))).toMatchObject({
      notifications: [{ type: 'email.bounced', recipients: [at('bounced+1'), at('bounced+2')] }],
    });
  });
});

test('createMailProvider makes the sandbox, and refuses smtp without an address and ses without a region', async () => {
  const sandboxDir = join(root, 'created');
  const options = { sandboxDir, timeoutMs: 1000, connectionsMax: 1 };
  const provider = await createMailProvider({ ...options, provider: 'sandbox' });
  await provider.send(outgoingMessage({ emailId: 'em_01jd0000000000000000000009' as EmailId }));
  expect(await readdir(sandboxDir)).toEqual(['em_01jd0000000000000000000009.eml']);
  const create = (name: 'smtp' | 'ses') => createMailProvider({ ...options, provider: name });
  await expect(create('smtp')).rejects.toThrow('SMTP_URL');
  await expect(create('ses')).rejects.toThrow('AWS_REGION');
});
