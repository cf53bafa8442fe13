/** This server's answers beside RavenDB's, and the differences that are meant. */
import { DIFFERENCES, type Difference } from './differences.js'
import type { Transcript } from './transcript.js'
import type { Answered } from './words.js'

/** What this server should answer, where RavenDB answers as in the transcript. */
export function expectedOf(raven: Transcript): Transcript {
  return new Map(
    [...raven].map(([title, answers]) => [
      title,
      new Map(
        [...answers].map(([request, answer]) => [
          request,
          expectedAnswer(answer, `${title}: ${request}`),
        ]),
      ),
    ]),
  )
}

function expectedAnswer(raven: Answered, request: string): Answered {
  return DIFFERENCES.reduce(
    (answer, difference) => apply(difference.answers, answer, request),
    raven,
  )
}

/** Differences that change nothing, and requests in them that nobody sends or that agree. */
export function stale(raven: Transcript): string[] {
  const all = new Map(
    [...raven].flatMap(([title, answers]) =>
      [...answers].map(([request, answer]) => [`${title}: ${request}` as string, answer] as const),
    ),
  )
  const changes = (answers: Difference['answers'], request: string) => {
    const answer = all.get(request)
    return answer !== undefined && !isSame(apply(answers, answer, request), answer)
  }
  return DIFFERENCES.flatMap(({ title, answers }) =>
    typeof answers === 'function'
      ? [...all.keys()].some((request) => changes(answers, request))
        ? []
        : [title]
      : Object.keys(answers).filter((request) => !changes(answers, request)),
  )
}

function apply(answers: Difference['answers'], answer: Answered, request: string): Answered {
  return typeof answers === 'function' ? answers(answer, request) : (answers[request] ?? answer)
}

const isSame = (one: Answered, other: Answered): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
