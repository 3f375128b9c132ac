import { html } from '@remix-run/html-template';
import type { Html, Part } from './pieces.ts';

interface Column {
  readonly label: string;
  /** Right-aligned. */
  readonly isNumber?: boolean;
  /** A wide column of long names. */
  readonly isRoomy?: boolean;
}

export interface TableParts {
  readonly caption: string;
  /** Makes the caption visible, and follows it in grey. Absent: only screen readers read the caption. */
  readonly captionMore?: string;
  /** A text is the label of a plain column. */
  readonly columns: readonly (Column | string)[];
  /** The first cell of a row names it. */
  readonly rows: readonly (readonly Part[])[];
}

/** A table. Its rows become blocks on a narrow screen. */
export function stackedTable(parts: TableParts): Html {
  return tableOf(parts, 'stack');
}

/** A short table of numbers. It stays a table on a narrow screen. */
export function numberTable(parts: TableParts): Html {
  return tableOf(parts, '');
}

/** CSS may make the rows blocks. Only the roles then show screen readers that this is a table. */
function tableOf({ columns: given, rows, ...parts }: TableParts, kind: 'stack' | ''): Html {
  const columns = given.map((column): Column => (typeof column === 'string' ? { label: column } : column));
  const heads = columns.map(
    ({ label, isNumber = false }) =>
      html`<th scope="col" role="columnheader" class="${isNumber ? 'num' : ''}">${label}</th>`,
  );
  return html`<table class="${kind}" role="table">
    ${captionOf(parts)}
    <thead role="rowgroup">
      <tr role="row">
        ${heads}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((cells) => rowOf(columns, cells))}
    </tbody>
  </table>`;
}

function rowOf(columns: readonly Column[], cells: readonly Part[]): Html {
  const [name = '', ...rest] = cells;
  const label = (at: number) => columns[at]?.label ?? '';
  const roomy = (at: number) => (columns[at]?.isRoomy === true ? ' roomy' : '');
  return html`<tr role="row">
    <th scope="row" role="rowheader" class="lone${roomy(0)}" data-l="${label(0)}"><div>${name}</div></th>
    ${rest.map((cell, index) => {
      const at = index + 1;
      const kind = columns[at]?.isNumber === true ? 'num' : '';
      const none = cell === '' ? ' none' : '';
      return html`<td role="cell" class="${kind}${roomy(at)}${none}" data-l="${label(at)}">
        <div>${cell}</div>
      </td>`;
    })}
  </tr>`;
}

function captionOf({ caption, captionMore }: Pick<TableParts, 'caption' | 'captionMore'>): Html {
  return captionMore === undefined
    ? html`<caption class="vh">
        ${caption}
      </caption>`
    : html`<caption>
        ${caption}
        <span>${captionMore}</span>
      </caption>`;
}
