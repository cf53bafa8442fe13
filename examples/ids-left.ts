/** What a user reads about the ids that are left on this device. */
import type { CollectionStatus } from 'offline-hilo'

export function idsLeft({ state, available }: CollectionStatus): string {
  if (state === 'exhausted') return 'No id is left. New orders need a network.'
  if (available === 0) return 'Looking for ids …'
  if (state === 'low') return `Only ${available} ids left. Connect soon.`
  return `${available} ids left for offline work`
}
