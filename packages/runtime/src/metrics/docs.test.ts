import { expect, test } from '@jest/globals';
import { metricCatalogue } from './catalogue.ts';
import { metricsPage } from './docs.ts';

const page = metricsPage();

test.each(Object.values(metricCatalogue))(
  '$name stands in the table, with its labels and meaning',
  (metric) => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${metric.name}\` |`));
    for (const label of metric.labels) expect(row).toContain(`\`${label}\``);
    expect(row).toContain(`| ${metric.processes.join(', ')} | ${metric.help} |`);
  },
);
