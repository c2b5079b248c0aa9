import{g as t}from"./chunk-VBM6FMK2.js";var s=t({});export{s as a};
