import { expect, test } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import { runCommand } from '../../test/run-command.ts';
import { LISTEN_OPTIONS } from './listen.ts';
import { SEND_OPTIONS } from './send.ts';

const SEND = ['send', '--type', 'email.sent', '--to', 'http://127.0.0.1:1/', '--secret', 'whsec_x'];

test.each<[string, string[], string]>([
  ['no command', [], 'a command is missing: send or listen'],
  ['an unknown command', ['sent'], 'unknown command sent: there are send and listen'],
  ['an unknown option', ['send', '--typ', 'x'], "Unknown option '--typ'"],
  ['an option without its value', ['send', '--type'], "Option '--type <value>' argument missing"],
  ['an option given twice', [...SEND, '--type', 'email.failed'], '--type is given twice'],
  ['a value for a switch', [...SEND, '--late=yes'], "Option '--late' does not take an argument"],
  ['a word too many', [...SEND, 'now'], "Unexpected argument 'now'"],
  ['no type', ['send', '--to', 'http://a/', '--secret', 'whsec_x'], '--type is missing'],
  ['an unknown type', ['send', '--type', 'email.lost'], 'there is no event type email.lost'],
  ['no address', ['send', '--type', 'email.sent'], '--to is missing'],
  ['no URL', ['send', '--type', 'email.sent', '--to', 'localhost'], '--to must be a URL that begins'],
  [
    'another protocol',
    ['send', '--type', 'email.sent', '--to', 'ftp://a/'],
    '--to must be a URL that begins',
  ],
  ['no secret', ['send', '--type', 'email.sent', '--to', 'http://a/'], '--secret is missing'],
  ['a secret without its prefix', [...SEND.slice(0, -1), 'x'], '--secret must be a whole signing secret'],
  ['an empty secret', [...SEND.slice(0, -1), ''], '--secret must be a whole signing secret'],
  ['no header name', [...SEND, '--header-prefix', 'a b'], '--header-prefix a b is no header name'],
  ['a port that is none', ['listen', '--port', '65536'], '--port must be a number from 0 to 65535'],
  ['a port in words', ['listen', '--port', 'any'], '--port must be a number from 0 to 65535'],
  ['no URL to forward to', ['listen', '--forward', 'hooks'], '--forward must be a URL that begins'],
  ['a key without an API', ['listen', '--key', 'pr_live_x'], '--api is missing'],
  ['an API without a key', ['listen', '--api', 'http://a/'], '--key is missing'],
  [
    'a key that is no API key',
    ['listen', '--api', 'http://a/', '--key', 'whsec_x'],
    '--key must be an API key',
  ],
  [
    'an API that is no URL',
    ['listen', '--api', 'a', '--key', 'pr_live_x'],
    '--api must be a URL that begins',
  ],
  [
    'a port to poll',
    ['listen', '--api', 'http://a/', '--key', 'pr_live_x', '--port', '1'],
    '--port has no use with --key',
  ],
  ['a line break in a value', ['send', '--type', 'a\n\u001b[2Jb'], 'there is no event type a \\u001b[2Jb'],
])('wrong usage, %s: one line that names it, and exit code 2', async (_fault, args, words) => {
  const { code, out, err } = await runCommand(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(/^postrider-receiver: [^\n]+ \(see npx --no -- @postrider\/receiver --help\)$/);
  expect(err).toContain(words);
});

test('a secret of the environment that is none is named by its variable', async () => {
  const { code, err } = await runCommand(SEND.slice(0, -2), { env: { POSTRIDER_WEBHOOK_SECRET: 'x' } });
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringContaining('POSTRIDER_WEBHOOK_SECRET must be'),
  });
});

test('an empty key of the environment is none', async () => {
  const env = { POSTRIDER_API_KEY: '' };
  const { code, err } = await runCommand(['listen', '--api', 'http://a/'], { env });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('--key is missing') });
});

const OPTIONS = Object.keys({ ...SEND_OPTIONS, ...LISTEN_OPTIONS });

test.each([[['--help']], [['-h']], [['send', '--help']], [['listen', '--nonsense', '-h']]])(
  '%j: the help shows every option and event type',
  async (args) => {
    const { code, out, err } = await runCommand(args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const word of [...OPTIONS.map((name) => `--${name} `), ...EVENT_TYPES]) expect(out).toContain(word);
  },
);
