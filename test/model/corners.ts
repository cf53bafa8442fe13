/**
 * The corners in which many kinds of events meet. `single-corners.ts` has those that are there for
 * one guard each.
 */
import type { Corner } from './bounds.js'

export const MIXED: Record<string, Corner> = {
  'one page, every message lost, late or twice': {
    small: { claims: 2, exchanges: 2, issues: 2, checkIns: 1, repeats: 1, losses: 1 },
    full: { pages: 2, exits: 1, checkIns: 2, issues: 3, kills: 1, workerDeaths: 1 },
  },
  'two pages that come, go and are killed': {
    small: { pages: 2, claims: 1, exchanges: 2, issues: 2, exits: 1, kills: 1, losses: 1 },
    full: { exchanges: 3, exits: 2, issues: 3, lease: 2, claims: 2, silences: 1 },
  },
  'workers that die, and pages that live and do not answer': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 2,
      issues: 2,
      exits: 1,
      giveBacks: 1,
      checkIns: 1,
      workerDeaths: 1,
      silences: 1,
    },
    full: { pages: 2, claims: 2, exchanges: 3, checkIns: 2, kills: 1, repeats: 1, losses: 1 },
  },
  'pages that park a part of a lease, and go on with the rest': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 3,
      issues: 2,
      exits: 1,
      checkIns: 1,
      cuts: 1,
      workerDeaths: 1,
    },
    full: { pages: 2, range: 3, lease: 3, claims: 2, cuts: 2, giveBacks: 1, kills: 1, issues: 3 },
  },
  'notes that one place loses, and a power cut': {
    small: { claims: 1, lease: 2, exchanges: 3, issues: 2, exits: 2, powerCuts: 1 },
    full: { pages: 2, claims: 2, losses: 1, kills: 1, giveBacks: 1, exchanges: 4 },
  },
  'surplus that goes back under a token, late and twice': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 2,
      issues: 1,
      exits: 1,
      giveBacks: 1,
      checkIns: 1,
      repeats: 1,
    },
    full: { pages: 2, exits: 2, claims: 2, giveBacks: 2, exchanges: 3, issues: 2, losses: 1 },
  },
  'surplus that goes back by the protocol of RavenDB alone': {
    small: {
      authority: 'plain',
      lease: 2,
      claims: 2,
      exchanges: 2,
      issues: 1,
      exits: 1,
      giveBacks: 1,
      repeats: 1,
    },
    full: { devices: 2, exchanges: 3, issues: 2, exits: 2, giveBacks: 2 },
  },
  'surplus that goes back to a RavenDB, to two devices': {
    small: {
      authority: 'ravendb',
      devices: 2,
      lease: 2,
      claims: 2,
      exchanges: 2,
      issues: 2,
      exits: 1,
      giveBacks: 1,
      losses: 1,
    },
    full: { exchanges: 4, issues: 3, exits: 2, giveBacks: 2, repeats: 1, claims: 3 },
  },
  'answers of a RavenDB that come twice, after their numbers were issued': {
    small: { authority: 'plain', range: 1, claims: 2, exchanges: 3, issues: 2, repeats: 1 },
    full: { pages: 2, exchanges: 4, issues: 3, claims: 3, exits: 1, kills: 1 },
  },
  'a counter of the app’s own, asked by two devices': {
    small: {
      authority: 'counter',
      devices: 2,
      claims: 2,
      exchanges: 2,
      issues: 2,
      repeats: 1,
      losses: 1,
    },
    full: { claims: 3, exchanges: 4, issues: 4, exits: 1, kills: 1, powerCuts: 1 },
  },
  'a document that two devices write, as with RavenDB 2 and 3': {
    small: {
      authority: 'document',
      devices: 2,
      claims: 2,
      exchanges: 2,
      issues: 2,
      repeats: 1,
      losses: 1,
    },
    full: { claims: 3, exchanges: 4, issues: 4, exits: 1, kills: 1, powerCuts: 1 },
  },
  'somebody sets the document back, or gives back what is not his': {
    small: {
      claims: 3,
      exchanges: 2,
      issues: 2,
      checkIns: 1,
      prunes: 1,
      forgeries: 1,
      writes: 1,
    },
    full: { devices: 2, lease: 2, exits: 1, giveBacks: 1, exchanges: 3, repeats: 1, losses: 1 },
  },
  'a profile that is copied while it is in use': {
    small: { claims: 2, exchanges: 2, issues: 2, checkIns: 1, copies: 1 },
    full: { exchanges: 3, issues: 3, checkIns: 2, kills: 1, exits: 1, giveBacks: 1 },
  },
  'a server that is restored from a backup': {
    small: { claims: 2, exchanges: 2, issues: 2, checkIns: 1, restores: 1 },
    full: { devices: 2, claims: 3, issues: 3, exchanges: 3, kills: 1 },
  },
  'a server that forgets old grants': {
    small: {
      lease: 2,
      claims: 1,
      exchanges: 2,
      issues: 2,
      checkIns: 1,
      exits: 1,
      giveBacks: 1,
      prunes: 1,
    },
    full: { pages: 2, claims: 2, exchanges: 3, checkIns: 2, repeats: 1, losses: 1, copies: 1 },
  },
}
