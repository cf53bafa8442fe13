/** First of two halves around an import: a `FinalizationRegistry` that never calls back. */
export const RealFinalizationRegistry = globalThis.FinalizationRegistry

globalThis.FinalizationRegistry = class {
  register(): void {}
  unregister(): boolean {
    return false
  }
} as unknown as FinalizationRegistryConstructor
