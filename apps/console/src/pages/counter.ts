import { LOAD_COUNTED_MAX } from '@postrider/store';
import { count } from '../html/words.ts';

/** A number of rows that was counted up to a maximum: `10,000+` there. */
export function counter(rows: number): string {
  return rows >= LOAD_COUNTED_MAX ? `${count(LOAD_COUNTED_MAX)}+` : count(rows);
}
