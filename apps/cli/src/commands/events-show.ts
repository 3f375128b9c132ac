import { readEventStory } from '@postrider/store';
import type { Command } from 'commander';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';
import { storyLines } from '../story-lines.ts';
import { storyObject } from '../story-object.ts';

/** `events show`: tells the story of an event. */
export function addEventsShow(events: Command, io: Io): void {
  events
    .command('show')
    .description('the story of an event: its cause, and each attempt at each webhook')
    .argument('<id>', "the event's id, evt_…")
    .action(async (text: string, { json }: { json?: true }) => {
      const id = requireId('event', text);
      await withDatabase(
        io,
        async ({ database }) => {
          const story = await readEventStory(database, id);
          if (story === null) throw new Failure(`no event ${id}`);
          printAnswer(io, json, storyObject(story), storyLines(story));
        },
        { indexesOnly: true },
      );
    });
}
