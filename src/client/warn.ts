/** Gives a warning to developers. Guarantees that a page without one loads none of the texts. */
type Warnings = typeof import('./warnings.js')

export const warn = (give: (warnings: Warnings) => void): void => {
  import('./warnings.js').then(give, () => {})
}
