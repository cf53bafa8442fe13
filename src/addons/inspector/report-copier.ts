/**
 * The button that copies a bug report. Where the browser forbids copying, the report is shown
 * instead, so that the user can copy it.
 */

import { type Facts, report } from './bug-report.js'
import { button, h, say } from './dom.js'

export interface ReportCopier {
  button: HTMLElement
  /** Says whether the report was copied. */
  outcome: HTMLElement
  /** Hidden, until the user has to copy the report from it. */
  text: HTMLElement
}

export function createReportCopier(facts: () => Facts): ReportCopier {
  const outcome = h('p.hint', { role: 'status' })
  const text = h('textarea', { readonly: true, hidden: true, 'aria-label': 'Bug report' })
  const copy = async () => {
    const content = report(facts())
    try {
      await navigator.clipboard.writeText(content)
      say(outcome, 'Copied, without tokens and headers.')
    } catch {
      // No permission, or a page served over plain http.
      text.value = content
      text.hidden = false
      text.select()
      say(outcome, 'The browser forbids copying. Copy the selected text yourself.')
    }
  }
  return { button: button('Copy bug report', copy), outcome, text }
}
