import { parseSearchText } from '@postrider/domain';
import { searchEmails } from '@postrider/store';
import type { EmailSearch, FoundEmail } from '@postrider/store';
import type { Command } from 'commander';
import { emailObject } from '../email-object.ts';
import { UsageError } from '../failure.ts';
import { optionalId, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { messageIdOf, onlyOne, requireAddress } from '../mail-search.ts';
import { LISTED_MAX, note, printList } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'STORED', 'STATE', 'ACCOUNT', 'TO', 'SUBJECT'];
const SEARCHES = ['address', 'domain', 'messageId', 'key', 'request'] as const;

interface Options extends Partial<Record<(typeof SEARCHES)[number], string>> {
  readonly account?: string;
  readonly json?: true;
}

/** `emails find`: finds sent mail of every account. It does not show the text of a message. */
export function addEmailsFind(emails: Command, io: Io): void {
  emails
    .command('find')
    .description(`the newest ${LISTED_MAX} sent messages to an address or a domain, or of a key or a request`)
    .option('--address <address>', 'to this recipient: to, cc or bcc')
    .option('--domain <domain>', 'to a recipient at this domain')
    .option('--message-id <id>', 'with this Message-ID')
    .option('--key <id>', 'that this API key sent, of the newest 10,000 of its account: key_…')
    .option('--request <id>', 'that this request sent: its x-request-id')
    .option('--account <id>', 'only mail of this account, of the newest 10,000 found in all accounts')
    .action(async (options: Options) => {
      const search = searchOf(options);
      const accountId = optionalId('account', options.account);
      await withDatabase(
        io,
        async ({ database }) => {
          const found = await searchEmails(database, search, { accountId, limit: LISTED_MAX + 1 });
          const listed = found.slice(0, LISTED_MAX);
          printList(io, options.json, listed.map(emailObject), {
            head: HEAD,
            rows: listed.map(rowOf),
            none: 'no emails',
          });
          if (found.length > LISTED_MAX) note(io, 'postrider: there are older ones');
        },
        { indexesOnly: true },
      );
    });
}

/** @throws UsageError */
function searchOf(options: Options): EmailSearch {
  const { name: by, value } = onlyOne('emails find', options, SEARCHES);
  switch (by) {
    case 'address':
      return { by, text: requireAddress(value) };
    case 'domain': {
      const search = parseSearchText(value);
      if (search?.kind !== 'domain') throw new UsageError(`"${value}" is not a domain`);
      return { by, text: search.domain };
    }
    case 'messageId':
      return { by, text: messageIdOf(value) };
    case 'key':
      return { by, text: requireId('apiKey', value) };
    case 'request':
      return { by, text: value.trim() };
  }
}

function rowOf(email: FoundEmail): string[] {
  const { id, createdAt, lastEvent, accountId, to, subject } = email;
  return [id, createdAt.toISOString(), lastEvent, accountId, to.join(', '), subject];
}
