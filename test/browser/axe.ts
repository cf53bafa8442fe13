/** What axe finds wrong with a page of the demo, for people who need help to read it. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Result {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
}

export async function complaintsAbout(page: Page): Promise<string[]> {
  // Not loaded as a script of the page: its content security policy would refuse that.
  await page.evaluate(axe.source)
  const run = 'axe.run(document, { resultTypes: ["violations"] })'
  const { violations } = await page.evaluate<Result>(run)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
