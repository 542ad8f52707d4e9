// The commands of the profile `prompt`: what is contributed to prompts, and their assembly.
import { Started, owned } from './commands.mjs'
import { callable } from './functions.mjs'
import { KINDS } from './kinds.mjs'
import { FunctionSpec } from './values.mjs'

/** A function of the suite as the implementation calls it; any other value as it is. */
const orAsItIs = (world, value, kind) => (value instanceof FunctionSpec ? callable(world, value, kind) : value)

/** The same where the implementation takes nothing but functions. */
const provider = (world, value, kind) => {
  const given = orAsItIs(world, value, kind)
  return typeof given === 'function' ? given : () => given
}

/** Register something with the registry of one context, and keep its disposer. */
const contribute = (work) => ({ as, in: place, ...args }, { world }) => {
  owned(world, as, work(world.context(place).systemPrompt, args, world))
}

/** A section or context, with those members that were given. */
const text = (method) => contribute((prompts, { do: _, text: said, ...members }, world) =>
  prompts[method]({ ...members, text: orAsItIs(world, said, KINDS.prompt(method, members.name)) }))

export const PROMPT = {
  'prompt.section': text('section'),
  'prompt.context': text('context'),
  'prompt.variable': contribute((prompts, { name, value }, world) =>
    prompts.variable(name, provider(world, value, KINDS.prompt('variable', name)))),
  'prompt.tools': contribute((prompts, { provide }, world) =>
    prompts.tools(provider(world, provide, KINDS.prompt('tools')))),
  'prompt.suppress': contribute((prompts) => prompts.suppressRuntimeContext()),
  'prompt.assemble'({ scope, agent, signal, in: place }, { world }) {
    const context = { scope: world.scope(scope), agent: agent === undefined ? undefined : world.agent(agent), signal }
    return new Started(world.context(place).systemPrompt.assemble(context))
  },
}
