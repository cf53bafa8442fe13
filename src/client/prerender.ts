/**
 * A page that the browser renders before its user goes there, and that nobody may ever see. The
 * browser starts no worker for it until then (`prerenderingchange`), and no id is asked for.
 */
const page = (): (Document & { prerendering?: boolean }) | undefined => globalThis.document

export const isPrerendering = (): boolean => page()?.prerendering === true

/** @param run is called once, when the user goes to the page */
export const onActivation = (run: () => void): void =>
  page()?.addEventListener('prerenderingchange', run, { once: true })
