// The adapter of the published npm packages: lockstep over standard input and output.
import { writeSync } from 'node:fs'
import manifest from './package.json' with { type: 'json' }
import { Fault, Outcome, read, thrown } from './values.mjs'
import { World } from './world.mjs'

const PROTOCOL = 1
/** How long the implementation may take to come to rest, in milliseconds. */
const PATIENCE = 10_000
/** Rounds of the event loop without a row and without a timer, file or immediate that make rest. */
const QUIET_ROUNDS = 3
/** What keeps the process alive without being work of the implementation: the pipes to the suite. */
const OWN_RESOURCES = new Set(['PipeWrap', 'TTYWrap', 'TCPSocketWrap'])

const HELLO = {
  protocol: PROTOCOL,
  implementation: {
    name: '@deepseek-ai/dsh',
    version: manifest.dependencies['@deepseek-ai/dsh-agent-loop'],
    language: 'javascript',
    homepage: 'https://github.com/deepseek-ai/deepseek-harness',
  },
  profiles: ['core', 'session', 'tools', 'prompt', 'llm', 'context', 'lifecycle'],
  features: ['ticks', 'values', 'throw-any', 'diagnostics', 'refusal', 'enforcement', 'services', 'approval', 'settings',
    'sync-create', 'identities', 'stub-store'],
}

const record = {
  rows: [],
  faults: [],
  command: null,
  /** An endless loop gives no other chance to answer than from inside. */
  overflow() {
    writeSync(1, `${JSON.stringify({ id: this.command, fault: 'unsettled', observed: [], open: [] })}\n`)
    process.exit(1)
  },
}
let world

const nextRound = () => new Promise((resolve) => { setImmediate(resolve) })
const busy = () => process.getActiveResourcesInfo().some((resource) => !OWN_RESOURCES.has(resource))

/** Let everything run that can run without another command; answers whether it came to rest. */
async function settle() {
  const limit = Date.now() + PATIENCE
  let seen = record.rows.length
  for (let quiet = 0; quiet < QUIET_ROUNDS;) {
    await nextRound()
    quiet = record.rows.length === seen && !busy() ? quiet + 1 : 0
    seen = record.rows.length
    if (Date.now() > limit) return false
  }
  return true
}

/** Wait for an operation on a whole world, but not for ever. */
async function within(promise) {
  let end
  promise.then((result) => { end = { result } }, (error) => { end = { error } })
  for (const limit = Date.now() + PATIENCE; end === undefined && Date.now() < limit;) await nextRound()
  if (end === undefined) throw new Fault('unsettled')
  if ('error' in end) throw end.error
  return end.result
}

async function closeWorld() {
  const closing = world
  world = undefined
  if (closing === undefined) return
  let closed = false
  const end = () => { closed = true }
  closing.close().then(end, end)
  for (const limit = Date.now() + PATIENCE; !closed && Date.now() < limit;) {
    if (await settle() && !closed) return // at rest: what keeps it from ending will never come
  }
}

/** The commands that are about a whole world, or about none. */
const WHOLE = {
  hello({ protocol }) {
    if (protocol !== PROTOCOL) throw new Fault(`this adapter speaks version ${PROTOCOL} of the protocol`)
    return { result: HELLO }
  },
  async 'world.open'({ config = {} }) {
    await closeWorld()
    const opened = new World(record)
    const opens = opened.open(read(config, { world: opened })).then(() => ({ result: null }), (error) => {
      if (error instanceof Fault) throw error
      return { error: thrown(error, opened) }
    })
    const outcome = await within(opens)
    opened.row({ on: 'return', op: 'world.open', ...outcome })
    world = opened
    if ('error' in outcome) await closeWorld()
    return outcome
  },
  async 'world.close'() {
    await closeWorld()
    return { result: null }
  },
}

/** Execute one command at the top: `{result}`, `{error}` or `{fault}`. */
async function perform({ op, args = {} }) {
  try {
    if (Object.hasOwn(WHOLE, op)) return await WHOLE[op](args)
    if (world === undefined) return { fault: `there is no open world for "${op}"` }
    return new Outcome(world.execute({ op, args }))
  } catch (error) {
    return { fault: error instanceof Fault ? error.message : `the adapter failed: ${error.stack}` }
  }
}

/** Answer one line: execute, settle, and tell what happened. */
async function answer(line) {
  let command
  try {
    command = Object(JSON.parse(line))
  } catch (error) {
    command = { id: 0, op: `no JSON: ${error.message}` }
  }
  const late = record.rows
  record.rows = []
  record.faults = []
  record.command = command.id
  let outcome = await perform(command)
  if (!await settle()) outcome = { fault: 'unsettled' }
  if (record.faults.length > 0) outcome = { fault: record.faults[0] }
  const reply = { id: command.id, ...outcome, observed: record.rows, open: [...world?.gates.keys() ?? []] }
  if (late.length > 0) reply.late = late
  record.rows = []
  return reply
}

for (const event of ['unhandledRejection', 'uncaughtException']) {
  process.on(event, (error) => record.rows.push({ on: 'unhandled', error: thrown(error, world) }))
}

let rest = ''
for await (const text of process.stdin.setEncoding('utf8')) {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    if (line.trim() !== '') process.stdout.write(`${JSON.stringify(await answer(line))}\n`)
    await nextRound() // one line in each round of the event loop
  }
}
process.stdout.write('', () => process.exit(0))
