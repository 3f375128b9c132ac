import type { TestDatabase } from '@postrider/testing';
import { RECIPIENT } from './outage.ts';
import type { Outage } from './outage.ts';

/** Shows the rest of a line from right to left, so `\u202egpj.exe` looks like `exe.jpg`. */
export const RIGHT_TO_LEFT = '\u202e';

/** The longest texts that strangers and customers may write, without a place to break a line. */
export async function writeWorstTexts(
  { query }: Pick<TestDatabase, 'query'>,
  { accountId, failing, emailId, messageId }: Outage,
): Promise<void> {
  await query(`update accounts set name = repeat('N', 200) where id = $1`, [accountId]);
  await query(
    `update webhooks set endpoint = 'https://' || repeat('h', 60) || '.example.com/' || repeat('p', 1900) where id = $1`,
    [failing],
  );
  await query(
    `update emails set subject = $2 || repeat('S', 990), from_address = repeat('F', 300) || ' <a@a.example>', error = repeat('E', 900),
       tags = json_build_array(json_build_object('name', repeat('t', 256), 'value', $2 || repeat('v', 255)))
     where id = $1`,
    [emailId, RIGHT_TO_LEFT],
  );
  await query(
    `insert into email_attachments values ($1, 0, $2 || repeat('f', 250), '') on conflict do nothing`,
    [emailId, RIGHT_TO_LEFT],
  );
  await query(
    `update messages set subject = $2 || repeat('W', 1000000), from_address = repeat('F', 60000) || ' <' || $3 || '>',
       message_id = repeat('i', 990), reply_to_addresses = array[repeat('r', 60000) || '@a.example'],
       received_for = array[repeat('x', 64) || '@' || repeat('d', 60) || '.example']
     where id = $1`,
    [messageId, RIGHT_TO_LEFT, RECIPIENT],
  );
  await query(`update api_keys set name = $2 || repeat('k', 99) where account_id = $1 and name = 'shop'`, [
    accountId,
    RIGHT_TO_LEFT,
  ]);
  await query(`update domains set name = repeat('d', 250) where account_id = $1`, [accountId]);
  await query(`update audit set note = $2 || repeat('n', 199) where account_id = $1`, [
    accountId,
    RIGHT_TO_LEFT,
  ]);
  await query(`update dead_letters set last_error = repeat('E', 500)`);
  await query(
    `update attempts set error = repeat('E', 500), answer = convert_to($1 || repeat('A', 1000), 'UTF8')`,
    [RIGHT_TO_LEFT],
  );
}
