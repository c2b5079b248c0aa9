import{a as w,c as u,d as x,f as g,g as k,i as _,k as o,m as j,n as A,t as b,u as v,x as O,y as I,z as S}from"./chunk-HQ5F5KXN.js";var h=g(null),K=(...e)=>(h.value??[]).filter(t=>e.includes(t.type));async function E(){let{data:e}=await O("v1/models");return h.value=e}var B=g(_("model")??"");var C=k(()=>{let e=K("chat");return e.find(t=>t.id===B.value)??e[0]});async function N(e){try{return await navigator.clipboard.writeText(e),!0}catch{let t=document.createElement("textarea");t.value=e,t.className="unseen",document.body.append(t),t.select();let n=document.execCommand("copy");return t.remove(),n}}function F({text:e,label:t="Copy"}){let[n,r]=u(!1);return o("button",{type:"button",class:"quiet",title:t,"aria-label":t,onClick:async()=>{if(!await N(e()))return S("The browser did not allow copying. Select the text and copy it by hand.");r(!0),setTimeout(()=>r(!1),1500)},children:n?o(A,{}):o(j,{})})}var q=e=>[...e.system?[{role:"system",content:e.system}]:[],{role:"user",content:"What is the capital of France?"}],Y={chat:{path:"/chat/completions",body:e=>({messages:q(e),...e.sampling}),python:"chat.completions.create",js:"chat.completions.create",show:["print(answer.choices[0].message.content)","console.log(answer.choices[0].message.content)"]},completion:{path:"/completions",body:e=>({prompt:"The capital of France is",max_tokens:32,...e.sampling}),python:"completions.create",js:"completions.create",show:["print(answer.choices[0].text)","console.log(answer.choices[0].text)"]},embedding:{path:"/embeddings",body:()=>({input:"Paris is the capital of France."}),python:"embeddings.create",js:"embeddings.create",show:["print(len(answer.data[0].embedding))","console.log(answer.data[0].embedding.length)"]},rerank:{path:"/rerank",body:()=>({query:"capital of France",documents:["Paris is the capital of France.","Rome is in Italy."]}),show:['print(answer["results"])',"console.log(answer.results)"]},speech:{path:"/audio/speech",body:()=>({voice:"alloy",input:"Hello there."}),python:"audio.speech.create",js:"audio.speech.create",show:['answer.write_to_file("hello.mp3")','await writeFile("hello.mp3", Buffer.from(await answer.arrayBuffer()))'],out:"hello.mp3"},transcription:{path:"/audio/transcriptions",body:()=>({}),python:"audio.transcriptions.create",js:"audio.transcriptions.create",show:["print(answer.text)","console.log(answer.text)"],in:"recording.mp3"}},p=e=>JSON.stringify(typeof e=="string"?e.toWellFormed():e),m=e=>`'${e.replaceAll("'","'\\''")}'`,y="QUERN_API_KEY";function T(e){let t=Y[e.kind],n={model:e.model,...t.body(e)};return[{title:"curl",text:M(e,t,n)},{title:"Python",note:t.python?"pip install openai":"pip install requests",text:z(e,t,n)},{title:"JavaScript",note:t.js?"npm install openai":void 0,text:D(e,t,n)},{title:"Go",note:"only the standard library",text:H(e,t,n)}]}function M(e,t,n){let r=[`curl ${e.base}${t.path}`];return e.key&&r.push(`-H "Authorization: Bearer $${y}"`),t.in?r.push(`-F file=@${t.in}`,...Object.entries(n).map(([i,l])=>"-F "+m(`${i}=${l}`))):r.push("-H 'Content-Type: application/json'","-d "+m(p(n))),t.out&&r.push("-o "+t.out),r.join(` \\
  `)}var f=e=>e===!0?"True":e===!1?"False":e===null?"None":Array.isArray(e)?`[${e.map(f).join(", ")}]`:typeof e=="object"?`{${Object.entries(e).map(([t,n])=>`${p(t)}: ${f(n)}`).join(", ")}}`:p(e),P=new Set(["model","messages","prompt","input","voice","temperature","top_p","max_tokens","seed","stop","presence_penalty","frequency_penalty"]);function z(e,t,n){let r=e.key?`os.environ["${y}"]`:'"none"',i=e.key?`import os

`:"";if(!t.python){let s=e.key?`,
    headers={"Authorization": "Bearer " + ${r}}`:"";return`${i}import requests

answer = requests.post(
    ${p(e.base+t.path)},
    json=${f(n)}${s},
).json()
${t.show[0]}
`}let l=Object.entries(n).filter(([s])=>P.has(s)).map(([s,a])=>`    ${s}=${f(a)},`),c=Object.fromEntries(Object.entries(n).filter(([s])=>!P.has(s)));return Object.keys(c).length&&l.push(`    extra_body=${f(c)},`),t.in&&l.push(`    file=open("${t.in}", "rb"),`),`${i}from openai import OpenAI

client = OpenAI(base_url=${p(e.base)}, api_key=${r})
answer = client.${t.python}(
${l.join(`
`)}
)
${t.show[0]}
`}function D(e,t,n){let r=e.key?`process.env.${y}`:'"none"',i=Object.entries(n).map(([c,s])=>`  ${c}: ${p(s)},`);if(!t.js){let c=e.key?`
    Authorization: \`Bearer \${${r}}\`,`:"";return`const response = await fetch(${p(e.base+t.path)}, {
  method: "POST",
  headers: {
    "Content-Type": "application/json",${c}
  },
  body: JSON.stringify(${p(n)}),
});
const answer = await response.json();
${t.show[1]};
`}let l=['import OpenAI from "openai";'];return t.in&&(l.push('import { createReadStream } from "node:fs";'),i.push(`  file: createReadStream("${t.in}"),`)),t.out&&l.push('import { writeFile } from "node:fs/promises";'),`${l.join(`
`)}

const client = new OpenAI({ baseURL: ${p(e.base)}, apiKey: ${r} });
const answer = await client.${t.js}({
${i.join(`
`)}
});
${t.show[1]};
`}function H(e,t,n){let r=['"fmt"','"io"','"log"','"net/http"'],i=[],l='"application/json"';t.in?(r.push('"bytes"','"mime/multipart"','"os"'),l="form.FormDataContentType()",i.push(`f, err := os.Open("${t.in}")`,"if err != nil {","	log.Fatal(err)","}","var body bytes.Buffer","form := multipart.NewWriter(&body)",...Object.entries(n).map(([a,d])=>`form.WriteField(${p(a)}, ${p(String(d))})`),`part, err := form.CreateFormFile("file", "${t.in}")`,"if err != nil {","	log.Fatal(err)","}","io.Copy(part, f)","form.Close()")):(r.push('"strings"'),i.push(`body := strings.NewReader(${p(p(n))})`)),e.key&&!r.includes('"os"')&&r.push('"os"');let c=t.out?['out, err := os.Create("'+t.out+'")',"if err != nil {","	log.Fatal(err)","}","defer out.Close()","if _, err := io.Copy(out, res.Body); err != nil {","	log.Fatal(err)","}","fmt.Println(res.Status)"]:["answer, err := io.ReadAll(res.Body)","if err != nil {","	log.Fatal(err)","}","fmt.Println(res.Status, string(answer))"];t.out&&!r.includes('"os"')&&r.push('"os"');let s=[...i,`req, err := http.NewRequest("POST", ${p(e.base+t.path)}, ${t.in?"&body":"body"})`,"if err != nil {","	log.Fatal(err)","}",`req.Header.Set("Content-Type", ${l})`,...e.key?[`req.Header.Set("Authorization", "Bearer "+os.Getenv("${y}"))`]:[],"res, err := http.DefaultClient.Do(req)","if err != nil {","	log.Fatal(err)","}","defer res.Body.Close()",...c];return`package main

import (
${r.sort().map(a=>"	"+a).join(`
`)}
)

func main() {
${s.map(a=>"	"+a).join(`
`)}
}
`}function R(e){let t=e.key?"YOUR_KEY":"none",n=[{title:"Environment",note:"for the OpenAI packages and most of what is built on them",text:`export OPENAI_BASE_URL=${m(e.base)}
export OPENAI_API_KEY=${m(t)}
`}];return e.kind!=="chat"?n:[...n,{title:"Open WebUI",note:"in the environment of its container",text:`OPENAI_API_BASE_URL=${e.base}
OPENAI_API_KEY=${t}
`},{title:"Continue",note:"~/.continue/config.yaml",text:`models:
  - name: ${p(e.model)}
    provider: openai
    model: ${p(e.model)}
    apiBase: ${p(e.base)}
    apiKey: ${p(t)}
    roles: [chat, edit]
`},{title:"aider",text:`OPENAI_API_BASE=${m(e.base)} OPENAI_API_KEY=${m(t)} aider --model ${m("openai/"+e.model)}
`},{title:"llm",note:"extra-openai-models.yaml in its folder",text:`- model_id: ${p(e.model)}
  model_name: ${p(e.model)}
  api_base: ${p(e.base)}
`}]}var W={chat:"Chat",completion:"Continue a text",embedding:"Embed",rerank:"Rank",speech:"Speak",transcription:"Transcribe"};function L(){let[e,t]=u(null),[n,r]=u(""),i=()=>{t(null),E().catch(t)};x(i,[]);let l=h.value??[],c=l.find(a=>a.id===n)??C.value??l[0],s=c?{base:b+"v1",key:v(),model:c.id,kind:c.type,system:"",sampling:{}}:null;return o("div",{class:"view use",children:[o("h1",{children:"Use it"}),o("p",{class:"lead",children:["Any program that speaks to OpenAI can speak to this server. Its address is ",o("code",{children:[b,"v1"]}),"."]}),e!==null&&o(I,{error:e,retry:i}),s&&o(w,{children:[o("label",{class:"field",children:["Model",o("select",{value:s.model,onChange:a=>r(a.currentTarget.value),children:l.map(a=>o("option",{value:a.id,children:[a.id," · ",W[a.type]]},a.id))})]}),o(U,{label:"Programs",snippets:T(s)}),o("h2",{children:"In other programs"}),o(U,{label:"Configurations",snippets:R(s)}),s.key&&o("p",{class:"hint",children:"The examples leave your key out: set it as QUERN_API_KEY, or put it in for YOUR_KEY."})]})]})}function U({label:e,snippets:t}){let[n,r]=u(0),i=Math.min(n,t.length-1),l=(a,d)=>`${e}-${a}-${d}`,c=a=>{let d={ArrowRight:1,ArrowLeft:-1}[a.key];if(!d)return;let $=(i+d+t.length)%t.length;r($),document.getElementById(l("tab",$)).focus()},s=t[i];return o("section",{class:"tabs","aria-label":e,children:[o("div",{class:"tab-row",children:[o("div",{role:"tablist","aria-label":e,onKeyDown:c,children:t.map((a,d)=>o("button",{type:"button",role:"tab",id:l("tab",d),"aria-selected":d===i,"aria-controls":l("panel",i),tabIndex:d===i?0:-1,onClick:()=>r(d),children:a.title},a.title))}),o(F,{text:()=>s.text,label:`Copy ${s.title}`})]}),o("div",{role:"tabpanel",id:l("panel",i),"aria-labelledby":l("tab",i),tabIndex:0,children:[s.note&&o("p",{class:"hint",children:s.note}),o("pre",{dir:"ltr",children:o("code",{children:s.text})})]})]})}export{L as default};
