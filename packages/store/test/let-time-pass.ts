import type { TestDatabase } from '@postrider/testing';

const DATES = {
  erasures: ['requested_at', 'resume_from', 'due_at'],
  emails: ['created_at'],
  messages: ['created_at', 'notified_at'],
  ses_mail: ['created_at'],
  events: ['created_at'],
  dead_letters: ['created_at', 'event_created_at'],
};

/** Makes all that an erasure looks at older by `interval`, as if Postgres's clock had gone on. */
export async function letTimePass(database: Pick<TestDatabase, 'query'>, interval: string): Promise<void> {
  for (const [table, columns] of Object.entries(DATES)) {
    const older = columns.map((column) => `${column} = ${column} - $1::interval`).join(', ');
    await database.query(`update ${table} set ${older}`, [interval]);
  }
}
