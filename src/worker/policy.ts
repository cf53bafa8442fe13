/** Why nothing answers, as far as a page or worker can tell: its policy, or that it is a test. */

/** @returns tells why nothing answers at an address; undefined: nobody knows */
export function watchPolicy(): (url: string) => Promise<string | undefined> {
  const forbidden = new Set<string>()
  const hear = ({ blockedURI }: SecurityPolicyViolationEvent) => forbidden.add(blockedURI)
  globalThis.addEventListener?.('securitypolicyviolation', hear)
  return async (url) => {
    const { addEventListener, document, indexedDB } = globalThis as Partial<typeof globalThis>
    // A request fails before the event comes that tells of it.
    if (addEventListener) await new Promise((resolve) => setTimeout(resolve))
    if ([...forbidden].some((each) => each.startsWith(url))) return POLICY
    return document && !indexedDB ? IN_TEST : undefined
  }
}

const POLICY =
  'The content security policy of the page forbids this address: add it to `connect-src`.'
const IN_TEST =
  'There is no IndexedDB here. In a test, use `createTestHilo` of offline-hilo/testing.'
