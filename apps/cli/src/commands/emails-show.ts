import { findEmails, searchEvents } from '@postrider/store';
import type { Command } from 'commander';
import { emailLines, emailObject } from '../email-object.ts';
import { Failure } from '../failure.ts';
import { fatesInWords, foundEventObject } from '../fate-object.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { LISTED_MAX, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `emails show`: shows a sent message without its text, and its newest events. */
export function addEmailsShow(emails: Command, io: Io): void {
  emails
    .command('show')
    .description('a sent message of any account without its text, and what became of its events')
    .argument('<id>', "the message's id, em_…")
    .action(async (text: string, { json }: { json?: true }) => {
      const id = requireId('email', text);
      await withDatabase(
        io,
        async ({ database }) => {
          const [email] = await findEmails(database, [id]);
          if (email === undefined) throw new Failure(`no email ${id}`);
          const { events } = await searchEvents(database, { by: 'email', id }, {}, LISTED_MAX);
          printAnswer(io, json, { ...emailObject(email), events: events.map(foundEventObject) }, [
            `account: ${email.accountId}`,
            ...emailLines(email),
            `events: ${events.length === 0 ? 'none' : 'the newest first'}`,
            ...events.map(
              (event) =>
                `  ${event.createdAt.toISOString()}  ${event.type}  ${event.id}  ${fatesInWords(event.fates)}`,
            ),
          ]);
        },
        { indexesOnly: true },
      );
    });
}
